import { tileIdentity } from '../ir/buffer-identity'
import type { Segment } from '../../plans/plan'
import type { Region, TileTensor, WholeTensor } from '../ir/tile-tensor'
import { getNodeLowering } from '../../ops'
import { copyPart, freshTile, inLayout, zeroTile } from '../scope/copies'
import type { OpStep } from '../scope/op-step'
import { wholePart, coversAll, coversImages, inStepIo, isSameRegion, regionExtents, alignedSlice, within } from '../scope/regions'
import type { ModelScope } from '../scope/scope'
import type { BackwardTile } from './bound-gradients'
import { joinedGradient } from './joined-place'
import { forWriting, isShared, overlaps } from './shared-gradients'

/**
 * Whether a tile's gradient of an input can be written where it belongs: no other tile reads these
 * rows and columns, so none adds to them.
 */
export const writesDirectly = (
  scope: Pick<ModelScope, 'device' | 'activationBytes'>,
  input: WholeTensor,
  region: Region,
  { grid }: Segment
): boolean => {
  if (grid.H > 1 || grid.W > 1) return false
  return grid.B > 1 ? coversImages(input, region) && alignedSlice(scope, input, region) !== undefined : coversAll(input, region)
}

/**
 * The gradient of a tensor may have another layout than the tensor: the network's input is loaded
 * as its first reader likes it.
 */
const layoutOfGradient = ({ device }: Pick<ModelScope, 'device'>, { node, sources }: OpStep, operand: number): TileTensor['layout'] =>
  node.inputs[operand] === 0 && getNodeLowering(node).readsImageLayout === true
    ? device.activationLayout(sources[operand]!.extents[1], false)
    : sources[operand]!.layout

/** The gradient of an operand as whoever reads that wants it. */
export const inGradientLayout = ({ scope }: BackwardTile, step: OpStep, operand: number, tile: TileTensor): TileTensor =>
  inLayout(scope, tile, layoutOfGradient(scope, step, operand), { kind: 'reordered-gradient' })

/** The region of an input that the op of a step reads. */
export const readRegion = ({ bound, body }: BackwardTile, { position }: OpStep, tensor: number): Region =>
  body.read(position - bound.segment.from, tensor)

/**
 * Whether the tile is the first to contribute to the gradient of an input, and writes right there.
 */
const startsAt = ({ scope, bound, gradients, given }: BackwardTile, tensor: number, whole: WholeTensor, region: Region): boolean =>
  !given.has(tensor) && gradients.isFirst(tensor) && writesDirectly(scope, whole, region, bound.segment)

/**
 * Where an op writes the gradient of an operand: where it belongs, over the gradient of its output,
 * or to a place of its own.
 */
export const createInputGradient = (tile: BackwardTile, step: OpStep, operand: number, destination: TileTensor | undefined): TileTensor => {
  const { scope, bound, gradients } = tile
  const { node, sources } = step
  const tensor = node.inputs[operand]!
  const shape = { extents: sources[operand]!.extents, layout: layoutOfGradient(scope, step, operand) }
  const region = readRegion(tile, step, tensor)
  const whole = tensor <= bound.segment.from ? gradients.inputOf(tensor) : undefined
  // An op that reads a tensor twice adds to it the second time.
  const isFirstOperand = node.inputs.indexOf(tensor) === operand
  if (whole !== undefined && whole !== 'stepIo' && isFirstOperand && startsAt(tile, tensor, whole, region))
    return alignedSlice(scope, whole, region)!
  const joined = destination && joinedGradient(tile, step, operand, destination)
  if (joined !== undefined) return joined
  const mayOverwrite = operand === 0 && getNodeLowering(node).inPlace && destination !== undefined
  if (mayOverwrite && !isShared(tile, destination, step.position + 1)) return { address: destination.address, ...shape }
  return freshTile(scope, tileIdentity('input-gradient', node.name), shape.extents, shape.layout)
}

/** Whether the tile itself holds the gradient of a tensor that it makes, or that is on the host. */
const isHeld = ({ bound }: BackwardTile, tensor: number): boolean => tensor > bound.segment.from || bound.hostTensors.has(tensor)

/** What others have contributed to the gradient of a region of a tensor, if it lies by itself. */
const contributed = (tile: BackwardTile, tensor: number, region: Region): TileTensor | undefined => {
  const { scope, body, gradients, received } = tile
  if (isHeld(tile, tensor)) return isSameRegion(body.held(tensor), region) ? received.get(tensor) : undefined
  const whole = gradients.inputOf(tensor)
  return whole === undefined || whole === 'stepIo' || startsAt(tile, tensor, whole, region) ? undefined : alignedSlice(scope, whole, region)
}

/**
 * The gradient of an op's input that others have contributed to and that the op may add its own to,
 * while it reads that of its output; undefined where there is none, or others read it.
 */
export const gradientToAddTo = (tile: BackwardTile, step: OpStep, destination: TileTensor): TileTensor | undefined => {
  const tensor = step.node.inputs[0]!
  const sum = contributed(tile, tensor, readRegion(tile, step, tensor))
  if (sum === undefined || sum.layout !== step.source.layout) return undefined
  if (overlaps(tile, sum, destination) || isShared(tile, sum, tensor)) return undefined
  if (!isHeld(tile, tensor)) tile.given.add(tensor)
  return sum
}

/**
 * Adds to the gradient of a tensor that the tile holds. `own`: nobody else needs what is added any
 * more. What only ops of the tile read is shared in any case, until one of them writes.
 */
const contributeInside = (tile: BackwardTile, tensor: number, region: Region, gradient: TileTensor, own: boolean): void => {
  const { scope, bound, body, received } = tile
  const { builder, activationBytes } = scope
  const held = body.held(tensor)
  const before = received.get(tensor)
  const isTaken = tensor > bound.segment.from || (own && !isShared(tile, gradient, tensor))
  if (before === undefined && isTaken && isSameRegion(held, region)) return void received.set(tensor, gradient)
  const sum =
    before === undefined
      ? freshTile(scope, { kind: 'gradient-sum' }, regionExtents(held, gradient.extents[1]), gradient.layout)
      : forWriting(tile, before, tensor, gradient)
  const covers = before === undefined && isSameRegion(held, region)
  if (before === undefined && !covers) zeroTile(builder, sum, activationBytes)
  received.set(tensor, sum)
  copyPart(builder, wholePart(gradient), { tensor: sum, region: within(held, region) }, covers ? 0 : 1, activationBytes)
}

/** Adds to the whole gradient of an input of the segment. */
const contributeToInput = (tile: BackwardTile, tensor: number, region: Region, gradient: TileTensor): void => {
  const { scope, gradients, given } = tile
  const { builder, activationBytes } = scope
  const whole = gradients.inputOf(tensor)
  if (whole === undefined) return
  if (whole === 'stepIo') {
    const { fields, address } = inStepIo(gradient, scope.graph.input, region, scope.stepIo.inputGradient, scope.parameterBytes)
    return builder.launch<'unpackAddTile'>({ kind: 'unpackAddTile', ...fields }, { source: gradient.address, destination: address })
  }
  const direct = startsAt(tile, tensor, whole, region)
  given.add(tensor)
  const view = alignedSlice(scope, whole, region)
  const isThere = view !== undefined && view.address.space === 'arena' && gradient.address.space === 'arena'
  if (direct && isThere && view.address.buffer === gradient.address.buffer) return
  copyPart(builder, wholePart(gradient), { tensor: whole, region }, direct ? 0 : 1, activationBytes)
}

/**
 * Passes a contribution to the gradient of a tensor on. `own`: nobody else needs the tile any more.
 */
export const contribute = (tile: BackwardTile, tensor: number, region: Region, gradient: TileTensor, own: boolean): void =>
  isHeld(tile, tensor) ? contributeInside(tile, tensor, region, gradient, own) : contributeToInput(tile, tensor, region, gradient)
