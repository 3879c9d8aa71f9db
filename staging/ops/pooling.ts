import { toWindow } from '../../dsl/internal'
import { pixelReductionAccess } from '../graph/access'
import { layoutCode } from '../kernels/layout'
import { windowFields } from '../kernels/window-fields'
import type { OpStep, StepGeometry, StepGradients } from '../lowering/scope/op-step'
import type { TileScope } from '../lowering/scope/scope'
import { originOperands, tileFields } from '../lowering/scope/regions'
import { maximaAt } from './moment-addresses'
import { windowAccess } from './convolution'
import { plainLayout, sameLayout, type NodeFor, type OpLowering } from './op-lowering'

const fields = (step: StepGeometry<NodeFor<'maxPool2d' | 'avgPool2d'>>) => ({
  layout: layoutCode(step.source.layout),
  ...windowFields(toWindow(step.node.args), step)
})

/** The largest of each window; backward finds it by its index, which forward keeps. */
export const maxPool2d: OpLowering<'maxPool2d'> = {
  access: windowAccess,
  saves: { indices: true },
  indicesKernel: (step) => ({ kind: 'maxPoolForward', ...fields(step) }),
  inPlace: false,
  outputLayout: sameLayout,
  forward: ({ builder }, step) =>
    builder.launch<'maxPoolForward'>(
      { kind: 'maxPoolForward', ...fields(step) },
      { source: step.source.address, destination: step.destination.address, indices: step.indices }
    ),
  backward: ({ builder }, step, { destination, source }) =>
    builder.launch<'maxPoolBackward'>(
      { kind: 'maxPoolBackward', ...fields(step) },
      { destinationGradient: destination!.address, indices: step.indices, sourceGradient: source!.address }
    )
}

const averageFields = (step: OpStep<NodeFor<'avgPool2d'>>) => ({
  overhangBottom: step.rows.overhang,
  overhangRight: step.columns.overhang,
  countPadding: step.node.args.countIncludePad === false ? 0 : 1,
  ...fields(step)
})

/** The mean of each window. */
export const avgPool2d: OpLowering<'avgPool2d'> = {
  access: windowAccess,
  saves: {},
  inPlace: false,
  outputLayout: sameLayout,
  forward: ({ builder }, step) =>
    builder.launch<'averagePoolForward'>(
      { kind: 'averagePoolForward', ...averageFields(step) },
      { source: step.source.address, destination: step.destination.address }
    ),
  backward: ({ builder }, step, { destination, source }) =>
    builder.launch<'averagePoolBackward'>(
      { kind: 'averagePoolBackward', ...averageFields(step) },
      { destinationGradient: destination!.address, sourceGradient: source!.address }
    )
}

const meanScale = ({ node: { input } }: OpStep<NodeFor<'globalAvgPool' | 'adaptiveAvgPool2d'>>): number => 1 / (input[2] * input[3])

/**
 * A sum over pixels: each tile adds its owned part, scaled by one over the whole tensor's pixels.
 */
export const reduceSpatialForward = (
  { builder }: Pick<TileScope, 'builder'>,
  step: OpStep<NodeFor<'globalAvgPool' | 'adaptiveAvgPool2d'>>
): void =>
  builder.launch<'globalAveragePoolForward'>(
    { kind: 'globalAveragePoolForward', ...tileFields(step.source), scale: meanScale(step) },
    { source: step.source.address, sum: step.destination.address }
  )

/** Backward of `sumPixels`: each pixel has the same part of the mean's gradient. */
export const reduceSpatialBackward = (
  { builder }: Pick<TileScope, 'builder'>,
  step: OpStep<NodeFor<'globalAvgPool' | 'adaptiveAvgPool2d'>>,
  { destination, source }: StepGradients
): void =>
  builder.launch<'globalAveragePoolBackward'>(
    { kind: 'globalAveragePoolBackward', ...tileFields(source!), scale: meanScale(step) },
    { sumGradient: destination!.address, sourceGradient: source!.address }
  )

/** The mean over all pixels, to which tiles add. */
export const globalAvgPool: OpLowering<'globalAvgPool'> = {
  access: pixelReductionAccess,
  saves: {},
  inPlace: false,
  accumulates: () => true,
  outputLayout: plainLayout,
  forward: reduceSpatialForward,
  backward: reduceSpatialBackward
}

/**
 * A merge over pixels: the maxima, with their places, stay until backward, so that each tile knows
 * whether it holds one.
 */
export const globalMaxPool: OpLowering<'globalMaxPool'> = {
  access: pixelReductionAccess,
  accumulatesMaxima: true,
  saves: {},
  inPlace: false,
  outputLayout: plainLayout,
  forward: (scope, step) =>
    scope.builder.launch<'globalMaxPoolForward'>(
      { kind: 'globalMaxPoolForward', ...placedFields(step) },
      { source: step.source.address, destination: step.destination.address, ...makePlaceFields(scope, step) }
    ),
  backward: (scope, step, { destination, source }) =>
    scope.builder.launch<'globalMaxPoolBackward'>(
      { kind: 'globalMaxPoolBackward', ...placedFields(step), layout: layoutCode(source!.layout) },
      { destinationGradient: destination!.address, sourceGradient: source!.address, ...makePlaceFields(scope, step) }
    )
}

const placedFields = ({ node: { input }, source }: OpStep<NodeFor<'globalMaxPool'>>) => ({
  ...tileFields(source),
  fullHeight: input[2],
  fullWidth: input[3]
})

const makePlaceFields = (scope: TileScope, step: OpStep<NodeFor<'globalMaxPool'>>) => {
  const { rowOrigin, columnOrigin } = originOperands(step.sourceRegion)
  return { maxima: maximaAt(scope, step), rowOrigin, columnOrigin }
}
