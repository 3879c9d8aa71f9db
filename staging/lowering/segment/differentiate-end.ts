import { noOperand } from '../ir/builder'
import { wholePart } from '../scope/regions'
import type { TileScope } from '../scope/scope'
import { runBackward } from '../../ops'
import type { SegmentBackward } from './segment-backward'

/**
 * Before the tiles: backward of the segment's last op, on whole tensors, where its pass says so.
 * The gradient of its output becomes that of its input.
 */
export const differentiateEnd = ({ scope, code, pass }: SegmentBackward): void => {
  const { to } = code.segment
  const position = to - 1
  if (!pass.endsWhole(position)) return
  const { tensor, gradient } = code.boundaries.get(to)!
  const { region } = wholePart(tensor)
  const [, rows, columns] = code.bodies[0]!.runs.map(({ readings }) => readings.at(-1)!)
  const shared: Omit<TileScope, keyof typeof scope> = {
    winograd: new Map(),
    castWeights: new Map(),
    sharesCopies: false,
    sums: new Map(),
    workspace: undefined,
    slot: undefined
  }
  runBackward(
    { ...scope, ...shared },
    {
      node: scope.graph.nodes[position]!,
      position,
      // The op reads its output alone, of the shape of its input.
      ...{ sources: [tensor], source: tensor, destination: tensor },
      ...{ rows: rows!, columns: columns!, sourceRegion: region, destinationRegion: region },
      ...{ parameters: undefined, indices: noOperand, slope: 1, isDifferentiated: false, normaliser: undefined }
    },
    { destination: gradient!, sources: [gradient], source: gradient, weight: noOperand, bias: noOperand, backwardWeights: () => noOperand }
  )
}
