import { transposedWindowOf } from '../../../dsl'
import { layoutCode, type Layout } from '../../layout'
import { scratchFor, windowFields, type Step } from '../context'
import { at, none } from '../emitter'
import { weightsIn } from '../parameters'
import { tileFields } from '../tensors'
import { weighted } from './convolution'
import type { NodeFor, OpLowering } from './op-lowering'

type TransposedStep = Step<NodeFor<'convTranspose2d'>>

/** As the convolution from its output to its input, of which it is the gradient. */
const fields = (step: TransposedStep, weightLayout: Layout) => {
  const { source, destination, rows, columns, node } = step
  return {
    outChannels: node.input[1],
    groups: node.args.groups ?? 1,
    sourceLayout: layoutCode(destination.layout),
    destinationLayout: layoutCode(source.layout),
    weightLayout: layoutCode(weightLayout),
    algorithm: 0,
    ...windowFields(transposedWindowOf(node.args), { source: destination, destination: source, rows, columns })
  }
}

export const convTranspose2d: OpLowering<'convTranspose2d'> = {
  keeps: { input: 'for-weights' },
  inPlace: false,
  outputLayout: ({ device }, _, { output }) => device.activationLayout(output[1], false),
  forward: (context, step) => {
    const { weight, bias } = weighted(step.parameters)
    const kernel = { kind: 'convolutionBackwardData', ...fields(step, weight.backwardLayout) } as const
    context.emit.launch<'convolutionBackwardData'>(kernel, {
      destinationGradient: step.source.address,
      weights: weightsIn(context, weight, weight.backwardLayout),
      sourceGradient: step.destination.address,
      scratch: scratchFor(context, kernel)
    })
    if (bias !== undefined)
      context.emit.launch<'addBias'>(
        { kind: 'addBias', ...tileFields(step.destination) },
        { bias: at(bias.buffer), destination: step.destination.address }
      )
  },
  backward: (context, step, gradients) => {
    const { weight } = weighted(step.parameters)
    const { address: destinationGradient } = gradients.destination!
    if (gradients.bias !== none)
      context.emit.launch<'sumBias'>(
        { kind: 'sumBias', ...tileFields(step.destination) },
        { destinationGradient, biasGradient: gradients.bias }
      )
    if (weight.learning !== undefined) {
      const kernel = { kind: 'convolutionBackwardWeights', ...fields(step, weight.layout) } as const
      context.emit.launch<'convolutionBackwardWeights'>(kernel, {
        source: destinationGradient,
        destinationGradient: step.source.address,
        weightGradient: gradients.weight,
        biasGradient: none,
        scratch: scratchFor(context, kernel)
      })
    }
    if (gradients.source === undefined) return
    const kernel = { kind: 'convolutionForward', slope: 1, ...fields(step, weight.layout) } as const
    context.emit.launch<'convolutionForward'>(kernel, {
      source: destinationGradient,
      weights: weightsIn(context, weight, weight.layout),
      bias: none,
      destination: gradients.source.address,
      scratch: scratchFor(context, kernel)
    })
  }
}
