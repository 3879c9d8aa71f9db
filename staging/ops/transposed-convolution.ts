import { toTransposedWindow } from '../../dsl/internal'
import { imageAccess } from '../graph/access'
import { layoutCode, type Layout } from '../kernels/layout'
import { scratchFor } from '../lowering/scope/workspace'
import { windowFields } from '../kernels/window-fields'
import type { OpStep } from '../lowering/scope/op-step'
import { arenaOperand, noOperand } from '../lowering/ir/builder'
import { weightsIn } from '../lowering/scope/parameters'
import { freshTile, inLayout, reorderTile } from '../lowering/scope/copies'
import { tileFields } from '../lowering/scope/regions'
import type { TileScope } from '../lowering/scope/scope'
import { requireParameters } from './require-parameters'
import { weightAndBias, type NodeFor, type OpLowering } from './op-lowering'

type TransposedStep = OpStep<NodeFor<'convTranspose2d'>>

/**
 * Convolutions read some layouts, as an image's, that they do not write: a transposed one's input
 * is what a convolution writes.
 */
const inputLayout = ({ device }: TileScope, { source }: TransposedStep): Layout => device.activationLayout(source.extents[1], false)

/** As the convolution from its output to its input, of which it is the gradient. */
const fields = (scope: TileScope, step: TransposedStep, weightLayout: Layout) => {
  const { source, destination, rows, columns, node } = step
  return {
    outChannels: node.input[1],
    groups: node.args.groups ?? 1,
    sourceLayout: layoutCode(destination.layout),
    destinationLayout: layoutCode(inputLayout(scope, step)),
    weightLayout: layoutCode(weightLayout),
    algorithm: 0,
    ...windowFields(toTransposedWindow(node.args), { source: destination, destination: source, rows, columns })
  }
}

/** The transpose of a convolution: each input pixel adds to a window of outputs. */
export const convTranspose2d: OpLowering<'convTranspose2d'> = {
  access: (args) => {
    const { kernel, stride, dilation, padding } = toTransposedWindow(args)
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
    weightAndBias([inChannels, args.out / (args.groups ?? 1), ...toTransposedWindow(args).kernel], args.out, args.bias),
  multiplyAdds: ({ input, args }) => {
    const { kernel, stride } = toTransposedWindow(args)
    return ((input[1] / (args.groups ?? 1)) * kernel[0] * kernel[1]) / (stride[0] * stride[1])
  },
  /**
   * Those of the convolution from its output to its input, whose gradient is this one's forward:
   * what tiles share is cast to the layout that forward reads.
   */
  weightForms: (device, { args, input, output }) => {
    const { kernel, stride, dilation, padding } = toTransposedWindow(args)
    const [vertical, horizontal] = padding
    const sides = { top: vertical, bottom: vertical, left: horizontal, right: horizontal }
    const [inChannels, outChannels, groups] = [output[1], input[1], args.groups ?? 1]
    const sourceLayout = device.activationLayout(inChannels, false)
    const layouts = device.weightLayouts({
      ...{ inChannels, outChannels, groups, kernel, stride, dilation },
      padding: sides,
      sourceLayout
    })
    const { stored, forward, backwardData } = layouts
    return {
      stored,
      forward: backwardData,
      backwardData: forward,
      transformed: undefined,
      storedForWinograd: [],
      normalisable: false,
      groups
    }
  },
  backwardReadsStored: true,
  saves: { input: 'for-weights-alone' },
  inPlace: false,
  outputLayout: ({ device }, _, { output }) => device.activationLayout(output[1], false),
  forward: (scope, step) => {
    const { weight, bias } = requireParameters(step.parameters)
    const kernel = { kind: 'convolutionBackwardData', ...fields(scope, step, weight.forwardLayout) } as const
    scope.builder.launch<'convolutionBackwardData'>(kernel, {
      destinationGradient: inLayout(scope, step.source, inputLayout(scope, step)).address,
      weights: weightsIn(scope, weight, weight.forwardLayout),
      sourceGradient: step.destination.address,
      scratch: scratchFor(scope, kernel)
    })
    if (bias !== undefined)
      scope.builder.launch<'addBias'>(
        { kind: 'addBias', ...tileFields(step.destination) },
        { bias: arenaOperand(bias.buffer), destination: step.destination.address }
      )
  },
  backward: (scope, step, gradients) => {
    const { weight } = requireParameters(step.parameters)
    const { address: destinationGradient } = gradients.destination!
    if (gradients.bias !== noOperand)
      scope.builder.launch<'sumBias'>(
        { kind: 'sumBias', ...tileFields(step.destination) },
        { destinationGradient, biasGradient: gradients.bias }
      )
    if (weight.learning !== undefined) {
      const kernel = { kind: 'convolutionBackwardWeights', ...fields(scope, step, weight.layout) } as const
      scope.builder.launch<'convolutionBackwardWeights'>(kernel, {
        source: destinationGradient,
        destinationGradient: inLayout(scope, step.source, inputLayout(scope, step)).address,
        weightGradient: gradients.weight,
        biasGradient: noOperand,
        scratch: scratchFor(scope, kernel)
      })
    }
    const wanted = gradients.source
    if (wanted === undefined) return
    const layout = inputLayout(scope, step)
    const written = wanted.layout === layout ? wanted : freshTile(scope, { kind: 'reordered-gradient' }, wanted.extents, layout)
    const kernel = { kind: 'convolutionForward', slope: 1, ...fields(scope, step, weight.backwardLayout) } as const
    scope.builder.launch<'convolutionForward'>(kernel, {
      source: destinationGradient,
      weights: weightsIn(scope, weight, weight.backwardLayout),
      bias: noOperand,
      destination: written.address,
      scratch: scratchFor(scope, kernel)
    })
    if (written !== wanted) reorderTile(scope.builder, written, wanted)
  }
}
