import { transposedWindowOf } from '../../../dsl'
import { imageAccess } from '../../access'
import { layoutCode, type Layout } from '../../layout'
import { scratchFor, windowFields, type Context, type Step } from '../context'
import { at, none } from '../emitter'
import { weightsIn } from '../parameters'
import { freshTile, inLayout, reorderTile, tileFields } from '../tensors'
import { weighted } from './convolution'
import { weightAndBias, type NodeFor, type OpLowering } from './op-lowering'

type TransposedStep = Step<NodeFor<'convTranspose2d'>>

/** Convolutions read some layouts, as an image's, that they do not write: a transposed one's input is what a convolution writes. */
const inputLayout = ({ device }: Context, { source }: TransposedStep): Layout => device.activationLayout(source.extents[1], false)

/** As the convolution from its output to its input, of which it is the gradient. */
const fields = (context: Context, step: TransposedStep, weightLayout: Layout) => {
  const { source, destination, rows, columns, node } = step
  return {
    outChannels: node.input[1],
    groups: node.args.groups ?? 1,
    sourceLayout: layoutCode(destination.layout),
    destinationLayout: layoutCode(inputLayout(context, step)),
    weightLayout: layoutCode(weightLayout),
    algorithm: 0,
    ...windowFields(transposedWindowOf(node.args), { source: destination, destination: source, rows, columns })
  }
}

export const convTranspose2d: OpLowering<'convTranspose2d'> = {
  access: (args) => {
    const { kernel, stride, dilation, padding } = transposedWindowOf(args)
    return imageAccess((index) => ({
      kind: 'transposedWindow',
      apart: dilation[index] * (kernel[index] - 1) + 1 < stride[index],
      kernel: kernel[index],
      stride: stride[index],
      dilation: dilation[index],
      padBefore: padding[index]
    }))
  },
  parameters: (args, inChannels) =>
    weightAndBias([inChannels, args.out / (args.groups ?? 1), ...transposedWindowOf(args).kernel], args.out, args.bias),
  multiplyAdds: ({ input, args }) => {
    const { kernel, stride } = transposedWindowOf(args)
    return ((input[1] / (args.groups ?? 1)) * kernel[0] * kernel[1]) / (stride[0] * stride[1])
  },
  saves: { input: 'for-weights' },
  inPlace: false,
  outputLayout: ({ device }, _, { output }) => device.activationLayout(output[1], false),
  forward: (context, step) => {
    const { weight, bias } = weighted(step.parameters)
    const kernel = { kind: 'convolutionBackwardData', ...fields(context, step, weight.backwardLayout) } as const
    context.emit.launch<'convolutionBackwardData'>(kernel, {
      destinationGradient: inLayout(context, step.source, inputLayout(context, step)).address,
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
      const kernel = { kind: 'convolutionBackwardWeights', ...fields(context, step, weight.layout) } as const
      context.emit.launch<'convolutionBackwardWeights'>(kernel, {
        source: destinationGradient,
        destinationGradient: inLayout(context, step.source, inputLayout(context, step)).address,
        weightGradient: gradients.weight,
        biasGradient: none,
        scratch: scratchFor(context, kernel)
      })
    }
    const wanted = gradients.source
    if (wanted === undefined) return
    const layout = inputLayout(context, step)
    const written = wanted.layout === layout ? wanted : freshTile(context, 'gradient in another layout', wanted.extents, layout)
    const kernel = { kind: 'convolutionForward', slope: 1, ...fields(context, step, weight.layout) } as const
    context.emit.launch<'convolutionForward'>(kernel, {
      source: destinationGradient,
      weights: weightsIn(context, weight, weight.layout),
      bias: none,
      destination: written.address,
      scratch: scratchFor(context, kernel)
    })
    if (written !== wanted) reorderTile(context.emit, written, wanted)
  }
}
