import { isPlanar } from '../../kernels/layout'
import { getNodeLowering } from '../../ops'
import { fillBlocks, joinedOffset, joinedTensors } from '../../ops/joins'
import { offsetBy, zeroStrides, type UnplacedOperand } from '../ir/builder'
import type { TileTensor } from '../ir/tile-tensor'
import type { OpStep } from '../scope/op-step'
import { isSameRegion, regionExtents } from '../scope/regions'
import type { BackwardTile } from './bound-gradients'
import { isShared } from './shared-gradients'
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
  const { graph, device, activationBytes } = scope
  const region = body.held(tensor)
  if (!isSameRegion(region, body.held(join + 1))) return undefined
  const { operands, whole: output } = joinedTensors(scope, join)
  const tile = { ...output, extents: regionExtents(region, output.extents[1]) }
  const bytes = joinedOffset(operands, graph.nodes[join]!.inputs.indexOf(tensor), tile, activationBytes)
  return bytes % (device.viewAlignment ?? 1) === 0 ? offsetBy(whole, bytes, zeroStrides) : undefined
}

/**
 * The gradient of an operand of an op that joins tensors along the channels, where it lies in that
 * of the op's output, so that nothing is copied; undefined where some operand's gradient would have
 * to lie by itself. What others read too would keep all of the output's gradient until they have
 * added to it, but for what is joined itself: a dense block (Huang 2017) then goes back in one
 * place, as it has grown in one.
 */
export const joinedGradient = (tile: BackwardTile, step: OpStep, operand: number, destination: TileTensor): TileTensor | undefined => {
  const { scope, bound, body } = tile
  const { graph, layouts, device, requiresGrad, activationBytes } = scope
  const { node, position, sources } = step
  const joins = (at: number): boolean => getNodeLowering(graph.nodes[at]!).joinsChannels === true
  const { address, extents, layout } = destination
  // What comes from behind the segment is read as a whole.
  if (!joins(position) || bound.ends.outputs.includes(position + 1)) return undefined
  if (extents[0] !== 1 || !isPlanar(layout) || !fillBlocks(sources, destination)) return undefined
  const region = body.held(position + 1)
  const offsets = sources.map((_, one) => joinedOffset(sources, one, destination, activationBytes))
  const mayLieThere = node.inputs.every(
    (tensor, one) =>
      tensor > bound.segment.from &&
      !bound.hostTensors.has(tensor) &&
      requiresGrad[tensor]! &&
      layouts[tensor] === layout &&
      isSameRegion(body.held(tensor), region) &&
      (graph.readers[tensor]!.length === 1 || joins(tensor - 1)) &&
      node.inputs.indexOf(tensor) === one &&
      offsets[one]! % (device.viewAlignment ?? 1) === 0
  )
  return mayLieThere && !isShared(tile, destination, position + 1)
    ? { address: offsetBy(address, offsets[operand]!, zeroStrides), extents: sources[operand]!.extents, layout }
    : undefined
}
