import { tileCount } from '../../graph/span'
import { accumulatesMoments, type NormalisationNode } from '../../graph/statistics'
import { isPlanar } from '../../kernels/layout'
import { getNodeLowering } from '../../ops'
import { channelOffsets, fillBlocks, joinedOffset, joinedTensors } from '../../ops/joins'
import { momentBytes } from '../../ops/moment-addresses'
import { offsetBy, zeroStrides } from '../ir/builder'
import type { TileTensor } from '../ir/tile-tensor'
import type { TilePass } from './tile-pass'

/** Some channels of a tensor that an op joins. */
export interface JoinedChannels {
  /** Their place in the tensor. */
  readonly tile: TileTensor
  /** Bytes from the beginning of the tensor's moments to theirs. */
  readonly momentsOffset: number
  /** The position of an op that has their moments already; absent where none has. */
  readonly known?: number
}

/** Whether every channel of an op's input has moments of its own. */
const isByChannel = ({ statistics, input }: NormalisationNode): boolean => statistics.groups === input[1]

/**
 * The parts of which a tensor of one image is joined, for the moments of an op that normalises it:
 * those of a channel that others have normalised before are the same. A dense block (Huang 2017)
 * normalises all that it has made so far again and again. Undefined where nothing is known, or the
 * parts do not lie by themselves.
 */
export const joinedChannels = (
  { scope, bound: { segment } }: Pick<TilePass, 'scope' | 'bound'>,
  tensor: number,
  whole: TileTensor,
  node: NormalisationNode
): readonly JoinedChannels[] | undefined => {
  const { graph, device, activationBytes } = scope
  const join = tensor - 1
  if (join < 0 || getNodeLowering(graph.nodes[join]!).joinsChannels !== true) return undefined
  const isAlone = tileCount(segment.grid) === 1 && graph.shard === undefined && whole.extents[0] === 1
  if (!isAlone || !isPlanar(whole.layout) || !isByChannel(node)) return undefined
  const { operands } = joinedTensors(scope, join)
  if (!fillBlocks(operands, whole)) return undefined
  const knows = (position: number): boolean => {
    const other = graph.nodes[position]!
    return accumulatesMoments(other) && isByChannel(other as NormalisationNode) && other.statistics!.perImage === node.statistics.perImage
  }
  const parts = channelOffsets(operands).map(({ tile: { extents }, first }, operand): JoinedChannels => {
    const input = graph.nodes[join]!.inputs[operand]!
    const address = offsetBy(whole.address, joinedOffset(operands, operand, whole, activationBytes), zeroStrides)
    const known = input === 0 ? undefined : graph.readers[input]!.find(knows)
    const [images, , height, width] = whole.extents
    return {
      tile: { ...whole, address, extents: [images, extents[1], height, width] },
      momentsOffset: first * momentBytes,
      ...(known !== undefined && { known })
    }
  })
  const isAligned = ({ tile: { address } }: JoinedChannels): boolean =>
    address.space === 'none' || address.base % (device.viewAlignment ?? 1) === 0
  return parts.some(({ known }) => known !== undefined) && parts.every(isAligned) ? parts : undefined
}
