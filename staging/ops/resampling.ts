import { imageAccess, pixelReductionAccess } from '../graph/access'
import { layoutCode } from '../kernels/layout'
import { extentFields } from '../kernels/window-fields'
import type { OpStep } from '../lowering/scope/op-step'
import { indexOperand } from '../lowering/ir/builder'
import { plainLayout, sameLayout, type NodeFor, type OpLowering } from './op-lowering'
import { reduceSpatialBackward, reduceSpatialForward } from './pooling'

/** The tiles of input and output, and the whole tensors. */
export const resamplingFields = ({ node, source, destination }: OpStep) => ({
  channels: source.extents[1],
  layout: layoutCode(source.layout),
  fullInHeight: node.input[2],
  fullInWidth: node.input[3],
  fullOutHeight: node.output[2],
  fullOutWidth: node.output[3],
  ...extentFields({ source, destination })
})

/** Absolute coordinates of the tiles' first rows and columns. */
export const resamplingOrigins = ({ sourceRegion, destinationRegion }: OpStep) => ({
  sourceRow: indexOperand(sourceRegion.from[1], [0, sourceRegion.advance[1], 0]),
  sourceColumn: indexOperand(sourceRegion.from[2], [0, 0, sourceRegion.advance[2]]),
  destinationRow: indexOperand(destinationRegion.from[1], [0, destinationRegion.advance[1], 0]),
  destinationColumn: indexOperand(destinationRegion.from[2], [0, 0, destinationRegion.advance[2]])
})

const resizeFields = (step: OpStep<NodeFor<'resize'>>) => ({
  bilinear: step.node.args.mode === 'bilinear' ? 1 : 0,
  alignCorners: step.node.args.alignCorners === true ? 1 : 0,
  ...resamplingFields(step)
})

/**
 * Interpolates, bilinear or nearest, by absolute coordinates, so that tiles find what the whole
 * finds.
 */
export const resize: OpLowering<'resize'> = {
  access: ({ mode, alignCorners = false }, input, output) =>
    imageAccess((index) => ({
      kind: 'resize',
      bilinear: mode === 'bilinear',
      alignCorners,
      inExtent: input[2 + index]!,
      outExtent: output[2 + index]!
    })),
  saves: {},
  inPlace: false,
  outputLayout: sameLayout,
  forward: ({ builder }, step) =>
    builder.launch<'resizeForward'>(
      { kind: 'resizeForward', ...resizeFields(step) },
      { source: step.source.address, destination: step.destination.address, ...resamplingOrigins(step) }
    ),
  backward: ({ builder }, step, { destination, source }) =>
    builder.launch<'resizeBackward'>(
      { kind: 'resizeBackward', ...resizeFields(step) },
      { destinationGradient: destination!.address, sourceGradient: source!.address, ...resamplingOrigins(step) }
    )
}

type AdaptiveStep = OpStep<NodeFor<'adaptiveAvgPool2d'>>

/**
 * Tells whether the output is one pixel: then it is a mean over all of them, to which tiles add.
 */
const isGlobal = ({ out }: NodeFor<'adaptiveAvgPool2d'>['args']): boolean => [out].flat().every((extent) => extent === 1)

/** Means over as many windows as the output has pixels; over all pixels where it has one. */
export const adaptiveAvgPool2d: OpLowering<'adaptiveAvgPool2d'> = {
  access: (args, input, output) =>
    isGlobal(args)
      ? pixelReductionAccess()
      : imageAccess((index) => ({ kind: 'adaptive', inExtent: input[2 + index]!, outExtent: output[2 + index]! })),
  saves: {},
  inPlace: false,
  accumulates: isGlobal,
  // One pixel is the same bytes in either; convolutions read channels innermost where they wrote
  // them so.
  outputLayout: (_, source, { args }) => (isGlobal(args) && source !== 'nhwc' ? plainLayout() : source),
  forward: (scope, step: AdaptiveStep) =>
    isGlobal(step.node.args)
      ? reduceSpatialForward(scope, step)
      : scope.builder.launch<'adaptivePoolForward'>(
          { kind: 'adaptivePoolForward', ...resamplingFields(step) },
          { source: step.source.address, destination: step.destination.address, ...resamplingOrigins(step) }
        ),
  backward: (scope, step: AdaptiveStep, gradients) =>
    isGlobal(step.node.args)
      ? reduceSpatialBackward(scope, step, gradients)
      : scope.builder.launch<'adaptivePoolBackward'>(
          { kind: 'adaptivePoolBackward', ...resamplingFields(step) },
          { destinationGradient: gradients.destination!.address, sourceGradient: gradients.source!.address, ...resamplingOrigins(step) }
        )
}
