import { tileCount } from '../../graph/span'
import { accumulatesMoments, type NormalisationNode } from '../../graph/statistics'
import { joinsChannels } from '../../ops'
import { channelOffsets, channelsLieTogether, joinedTensors } from '../../ops/joins'
import type { TileTensor } from '../ir/tile-tensor'
import { joinedPart } from './joined-place'
import type { TilePass } from './tile-pass'

/** Some channels of a tensor, which make groups of their own. */
export interface MeasuredChannels {
  readonly tile: TileTensor
  /** The first of their groups, and how many these are. */
  readonly firstGroup: number
  readonly groups: number
  /** The position of an op that has their moments already; absent where none has. */
  readonly known?: number
}

/** Whether every channel of an op's input has moments of its own. */
const isByChannel = ({ statistics, input }: NormalisationNode): boolean => statistics.groups === input[1]

/**
 * The channels of a tensor of one image by the parts of which it is joined, for the moments of an
 * op that normalises it: those of a channel that others have normalised before are the same. A
 * dense block (Huang 2017) normalises all that it has made so far again and again. Undefined where
 * nothing is known, or the parts do not lie by themselves.
 */
export const joinedChannels = (
  { scope, bound: { segment } }: Pick<TilePass, 'scope' | 'bound'>,
  tensor: number,
  whole: TileTensor,
  node: NormalisationNode
): readonly MeasuredChannels[] | undefined => {
  const { graph } = scope
  const join = graph.nodes[tensor - 1]
  const isAlone = tileCount(segment.grid) === 1 && graph.shard === undefined
  if (join === undefined || !joinsChannels(join) || !isAlone || !isByChannel(node)) return undefined
  const { operands } = joinedTensors(scope, tensor - 1)
  if (!channelsLieTogether(operands, whole)) return undefined
  const knows = (position: number): boolean => {
    const other = graph.nodes[position]!
    return accumulatesMoments(other) && isByChannel(other as NormalisationNode) && other.statistics!.perImage === node.statistics.perImage
  }
  const parts = channelOffsets(operands).flatMap(({ tile: { extents }, first }, operand): readonly MeasuredChannels[] => {
    const tile = joinedPart(scope, operands, operand, whole)
    const input = join.inputs[operand]!
    const known = input === 0 ? undefined : graph.readers[input]!.find(knows)
    return tile === undefined ? [] : [{ tile, firstGroup: first, groups: extents[1], ...(known !== undefined && { known }) }]
  })
  return parts.length === operands.length && parts.some(({ known }) => known !== undefined) ? parts : undefined
}
