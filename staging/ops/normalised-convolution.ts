import type { Kernel } from '../kernels/kernels'
import { layoutCode } from '../kernels/layout'
import { arenaOperand, noOperand } from '../lowering/ir/builder'
import type { NormaliserOnLoad, OpStep, StepGradients } from '../lowering/scope/op-step'
import { weightsIn } from '../lowering/scope/parameters'
import type { TileScope } from '../lowering/scope/scope'
import { scratchFor } from '../lowering/scope/workspace'
import { normalisationKernel } from './normalisation-kernel'
import type { NodeFor } from './op-lowering'
import { requireParameters } from './require-parameters'

type ConvolutionStep = OpStep<NodeFor<'conv2d'>>

/** The step's source is what the normalisation reads: the fields and operands that are of that. */
const ofNormalisation = (scope: TileScope, { source, sourceRegion }: ConvolutionStep, { node, position, slope }: NormaliserOnLoad) => {
  const { fields, operands } = normalisationKernel(scope, node, position, source, sourceRegion, slope)
  const { weights: scale, bias: shift, ...read } = operands
  return { fields, operands: { ...read, scale, shift } }
}

/** A 1x1 convolution that normalises what it reads. */
export const normalisedForward = (scope: TileScope, step: ConvolutionStep, normaliser: NormaliserOnLoad): void => {
  const { weight, bias } = requireParameters(step.parameters)
  const { fields, operands } = ofNormalisation(scope, step, normaliser)
  const kernel = {
    kind: 'normalisedConvolutionForward' as const,
    ...fields,
    outChannels: step.node.args.out,
    weightLayout: layoutCode(weight.forwardLayout),
    outSlope: step.slope
  }
  scope.builder.launch<'normalisedConvolutionForward'>(kernel, {
    ...operands,
    weights: weightsIn(scope, weight, weight.forwardLayout),
    bias: bias === undefined ? noOperand : arenaOperand(bias.buffer),
    destination: step.destination.address,
    scratch: scratchFor(scope, kernel)
  })
}

/** The gradients of its weights and bias: the kernel, and what launches it. */
export const normalisedBackwardWeights = (
  scope: TileScope,
  step: ConvolutionStep,
  normaliser: NormaliserOnLoad,
  gradients: StepGradients
): { readonly kernel: Kernel; readonly launch: () => void } => {
  const { weight } = requireParameters(step.parameters)
  const { fields, operands } = ofNormalisation(scope, step, normaliser)
  const kernel = {
    kind: 'normalisedConvolutionBackwardWeights' as const,
    ...fields,
    outChannels: step.node.args.out,
    weightLayout: layoutCode(weight.layout)
  }
  return {
    kernel,
    launch: () =>
      scope.builder.launch<'normalisedConvolutionBackwardWeights'>(kernel, {
        ...operands,
        destinationGradient: gradients.destination!.address,
        weightGradient: gradients.weight,
        biasGradient: gradients.bias,
        scratch: scratchFor(scope, kernel)
      })
  }
}
