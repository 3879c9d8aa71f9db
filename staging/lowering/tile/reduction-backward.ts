import { intersect, type Interval } from '../../graph/interval'
import type { ImageRows } from '../../graph/shared-tensor'
import type { NormalisationNode } from '../../graph/statistics'
import { noOperand, type UnplacedOperand } from '../ir/builder'
import type { Region, TileTensor } from '../ir/tile-tensor'
import { rowsOfTile, statisticsCount, sumBytes } from '../../ops/moment-addresses'
import { normalisationKernel } from '../../ops/normalisation-kernel'
import { copyPart, freshTile } from '../scope/copies'
import type { OpStep } from '../scope/op-step'
import { trainableTensors } from '../scope/parameters'
import { wholePart, regionExtents } from '../scope/regions'
import type { ModelScope } from '../scope/scope'
import type { BackwardTile, BoundGradients } from './bound-gradients'
import { contribute, createInputGradient, gradientToAddTo } from './input-gradients'
import { parameterTargets } from './parameter-gradients'
import { forWriting } from './shared-gradients'

/**
 * The gradient of a tile of a normalisation's input: affine, not linear, in that of its output, for
 * the sums are of all tiles.
 */
const emitSourceGradient = (
  { scope }: BackwardTile,
  step: OpStep,
  destination: TileTensor,
  sums: UnplacedOperand,
  sourceGradient: UnplacedOperand,
  add: 0 | 1
): void => {
  const node = step.node as NormalisationNode
  const { fields, operands } = normalisationKernel(scope, node, step.position, step.source, step.sourceRegion, step.slope)
  scope.builder.launch<'normaliseBackward'>(
    { kind: 'normaliseBackward', ...fields, add },
    { ...operands, destinationGradient: destination.address, sums: node.statistics.fromInput ? sums : noOperand, sourceGradient }
  )
}

/**
 * Backward of a normalisation on a tile: adds to its sums, and makes its input's gradient unless
 * that waits for the other tiles.
 */
export const emitReduction = (tile: BackwardTile, step: OpStep, destination: TileTensor): void => {
  const { scope, gradients, waiting } = tile
  const { position, source, sourceRegion } = step
  const node = step.node as NormalisationNode
  const sums = gradients.sumsAt(position, sourceRegion)
  if (sums !== noOperand) {
    const { fields, operands } = normalisationKernel(scope, node, position, source, sourceRegion, step.slope)
    scope.builder.launch<'normaliseBackwardReduce'>(
      { kind: 'normaliseBackwardReduce', ...fields },
      { ...operands, destinationGradient: destination.address, sums }
    )
  }
  const tensor = node.inputs[0]!
  if (!scope.requiresGrad[tensor]!) return
  const pending = gradients.pendingOf(position)
  if (pending === 'host') return void waiting.set(position, forWriting(tile, destination, position + 1))
  if (pending !== undefined)
    return copyPart(scope.builder, wholePart(destination), { tensor: pending, region: sourceRegion }, 1, scope.activationBytes)
  const before = gradientToAddTo(tile, step, destination)
  if (before !== undefined) return emitSourceGradient(tile, step, destination, sums, before.address, 1)
  const place = createInputGradient(tile, step, 0, destination)
  emitSourceGradient(tile, step, destination, sums, place.address, 0)
  contribute(tile, tensor, sourceRegion, { ...place, extents: source.extents }, true)
}

/** After the tiles: the gradients of a normalisation's parameters, of its complete sums. */
export const emitReductionParameters = (
  scope: ModelScope,
  position: number,
  sums: UnplacedOperand,
  gradients: Pick<BoundGradients, 'sumOf'>
): void => {
  const parameters = scope.parameters[position]
  if (trainableTensors(parameters).length === 0) return
  const node = scope.graph.nodes[position] as NormalisationNode
  const targetOf = parameterTargets(scope, { ...gradients, partial: false })
  const [weight, bias] = [targetOf(parameters, 'weight'), targetOf(parameters, 'bias')]
  scope.builder.launch<'normaliseParameters'>(
    { kind: 'normaliseParameters', images: statisticsCount(node), channels: node.input[1] },
    { sums, weightGradient: weight.address, biasGradient: bias.address }
  )
  weight.add()
  bias.add()
}

/**
 * The whole tensors of a normalisation whose input's gradient waited for all of that of its output.
 */
export interface CompleteReduction {
  readonly source: TileTensor
  readonly dy: TileTensor
  readonly gradient: TileTensor
  readonly sums: UnplacedOperand
  readonly slope: number
}

/**
 * After the tiles: the gradient of a normalisation's input, where it waited for that of its output.
 */
export const emitPendingGradient = (
  scope: ModelScope,
  position: number,
  { source, dy, gradient, sums, slope }: CompleteReduction
): void => {
  const node = scope.graph.nodes[position] as NormalisationNode
  const { region } = wholePart(source)
  const { fields, operands } = normalisationKernel(scope, node, position, source, region, slope)
  const ownSums = rowsOfTile(sums, node.statistics, region, node.input[1] * sumBytes)
  scope.builder.launch<'normaliseBackward'>(
    { kind: 'normaliseBackward', ...fields, add: dy === gradient ? 0 : 1 },
    { ...operands, sums: ownSums, destinationGradient: dy.address, sourceGradient: gradient.address }
  )
}

const size = ({ from, to }: Interval): number => to - from

/** What a tensor holds beside some rows of some images: other images, and other rows of those. */
const regionsBeside = (tensor: TileTensor, own: ImageRows): readonly Region[] => {
  const { region } = wholePart(tensor)
  const [firstImage, firstRow] = region.from
  const held: ImageRows = {
    images: { from: firstImage, to: firstImage + region.size[0] },
    rows: { from: firstRow, to: firstRow + region.size[1] }
  }
  const beside = (along: keyof ImageRows): readonly Interval[] =>
    [
      { from: held[along].from, to: Math.min(own[along].from, held[along].to) },
      { from: Math.max(own[along].to, held[along].from), to: held[along].to }
    ].filter((one) => size(one) > 0)
  const ofImages = beside('images').map((images): ImageRows => ({ images, rows: held.rows }))
  const images = intersect(own.images, held.images)
  const ofRows = images === undefined ? [] : beside('rows').map((rows): ImageRows => ({ images, rows }))
  return [...ofImages, ...ofRows].map(({ images: some, rows }) => ({
    ...region,
    from: [some.from, rows.from, 0] as const,
    size: [size(some), size(rows), region.size[2]] as const
  }))
}

const copyOfRows = (scope: ModelScope, tensor: TileTensor, region: Region): TileTensor => {
  const copy = freshTile(scope, { kind: 'rows-of-others' }, regionExtents(region, tensor.extents[1]), tensor.layout)
  copyPart(scope.builder, { tensor, region }, wholePart(copy), 0, scope.activationBytes)
  return copy
}

/**
 * After the tiles, where ranks share a batch: the gradient of a normalisation's input, which is
 * that of its output by a factor, less means. A rank has contributions to what is others' too: it
 * makes what the factor makes of them, and whose they are takes the means away.
 */
export const emitPendingGradientOfPart = (scope: ModelScope, position: number, complete: CompleteReduction, own: ImageRows): void => {
  const { source, dy, gradient, slope } = complete
  const node = scope.graph.nodes[position] as NormalisationNode
  const others = regionsBeside(gradient, own).map((region) => {
    const [input, contributed] = [copyOfRows(scope, source, region), copyOfRows(scope, dy, region)]
    return { region, input, contributed, before: dy === gradient ? contributed : copyOfRows(scope, gradient, region) }
  })
  emitPendingGradient(scope, position, complete)
  for (const { region, input, contributed, before } of others) {
    const { fields, operands } = normalisationKernel(scope, node, position, input, region, slope)
    scope.builder.launch<'normaliseBackward'>(
      { kind: 'normaliseBackward', ...fields, add: dy === gradient ? 0 : 1 },
      { ...operands, sums: noOperand, destinationGradient: contributed.address, sourceGradient: before.address }
    )
    copyPart(scope.builder, wholePart(before), { tensor: gradient, region }, 0, scope.activationBytes)
  }
}
