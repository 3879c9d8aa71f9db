import { joinsChannels } from '../../ops'
import { channelsLieTogether, joinedOffset, joinedTensors, type TileShape } from '../../ops/joins'
import { offsetBy, zeroStrides, type UnplacedOperand } from '../ir/builder'
import type { TileTensor } from '../ir/tile-tensor'
import type { OpStep } from '../scope/op-step'
import { isSameRegion, regionExtents } from '../scope/regions'
import type { ModelScope } from '../scope/scope'
import type { BackwardTile } from './bound-gradients'
import { isShared } from './shared-gradients'
import type { TilePass } from './tile-pass'

type JoinScope = Pick<ModelScope, 'device' | 'activationBytes'>

/** Whether kernels can read what begins where an operand's part of a whole does. */
const isPartAligned = (
  { device, activationBytes }: JoinScope,
  operands: readonly TileShape[],
  operand: number,
  whole: TileShape
): boolean => joinedOffset(operands, operand, whole, activationBytes) % (device.viewAlignment ?? 1) === 0

/**
 * An operand's part of a whole in which its channels lie together; undefined where kernels could
 * not read what begins there.
 */
export const joinedPart = (
  scope: JoinScope,
  operands: readonly TileShape[],
  operand: number,
  whole: TileTensor
): TileTensor | undefined => {
  if (!isPartAligned(scope, operands, operand, whole)) return undefined
  const [images, , height, width] = whole.extents
  return {
    ...whole,
    address: offsetBy(whole.address, joinedOffset(operands, operand, whole, scope.activationBytes), zeroStrides),
    extents: [images, operands[operand]!.extents[1], height, width]
  }
}

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
  const region = body.held(tensor)
  if (!isSameRegion(region, body.held(join + 1))) return undefined
  const { operands, whole: output } = joinedTensors(scope, join)
  const tile = { ...output, address: whole, extents: regionExtents(region, output.extents[1]) }
  return joinedPart(scope, operands, scope.graph.nodes[join]!.inputs.indexOf(tensor), tile)?.address
}

/**
 * Whether the gradients of all operands of an op that joins tensors along the channels can lie in
 * that of its output. What others read too would keep all of the output's gradient until they have
 * added to it, but for what is joined itself: a dense block (Huang 2017) then goes back in one
 * place, as it has grown in one.
 */
export const goesBackInPlace = (scope: ModelScope, position: number, operands: readonly TileShape[], whole: TileShape): boolean => {
  const { graph, layouts, requiresGrad } = scope
  const node = graph.nodes[position]!
  const { inputs } = node
  return (
    joinsChannels(node) &&
    channelsLieTogether(operands, whole) &&
    inputs.every(
      (tensor, operand) =>
        tensor > 0 &&
        requiresGrad[tensor]! &&
        layouts[tensor] === whole.layout &&
        (graph.readers[tensor]!.length === 1 || joinsChannels(graph.nodes[tensor - 1]!)) &&
        inputs.indexOf(tensor) === operand &&
        isPartAligned(scope, operands, operand, whole)
    )
  )
}

/**
 * The gradient of an operand of an op that joins tensors along the channels, where it lies in that
 * of the op's output, so that nothing is copied; undefined where some operand's gradient has to lie
 * by itself.
 */
export const joinedGradient = (tile: BackwardTile, step: OpStep, operand: number, destination: TileTensor): TileTensor | undefined => {
  const { scope, bound, body } = tile
  const { node, position, sources } = step
  // What comes from behind the segment is read as a whole.
  if (!goesBackInPlace(scope, position, sources, destination) || bound.ends.outputs.includes(position + 1)) return undefined
  const region = body.held(position + 1)
  const isInside = node.inputs.every(
    (tensor) => tensor > bound.segment.from && !bound.hostTensors.has(tensor) && isSameRegion(body.held(tensor), region)
  )
  return isInside && !isShared(tile, destination, position + 1) ? joinedPart(scope, sources, operand, destination) : undefined
}
