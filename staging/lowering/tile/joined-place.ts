import { extentsOfTensor } from '../../graph/graph'
import { offsetBy, zeroStrides, type UnplacedOperand } from '../ir/builder'
import { isSameRegion, regionExtents, tensorBytes } from '../scope/regions'
import type { TilePass } from './tile-pass'

/**
 * The place of a tile of a tensor in the output, which is at `whole`, of the op that joins it to
 * others; undefined where the tile does not hold the same part of both, or kernels could not read
 * what begins there.
 */
export const joinedPlace = (
  { scope, body }: Pick<TilePass, 'scope' | 'body'>,
  join: number,
  whole: UnplacedOperand,
  tensor: number
): UnplacedOperand | undefined => {
  const { graph, layouts, device, activationBytes } = scope
  const region = body.held(tensor)
  if (!isSameRegion(region, body.held(join + 1))) return undefined
  const { inputs } = graph.nodes[join]!
  const channels = inputs.slice(0, inputs.indexOf(tensor)).reduce((sum, input) => sum + extentsOfTensor(graph, input)[1], 0)
  const bytes = tensorBytes(layouts[tensor]!, regionExtents(region, channels), activationBytes)
  return bytes % (device.viewAlignment ?? 1) === 0 ? offsetBy(whole, bytes, zeroStrides) : undefined
}
