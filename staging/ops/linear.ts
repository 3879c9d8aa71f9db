import { sameAccess, wholeImageAccess } from '../graph/access'
import { layoutCode } from '../kernels/layout'
import { arenaOperand, noOperand } from '../lowering/ir/builder'
import { weightsIn } from '../lowering/scope/parameters'
import type { TileTensor } from '../lowering/ir/tile-tensor'
import { productsPerOutput } from './convolution'
import { requireParameters } from './require-parameters'
import { plainLayout, weightAndBias, type OpLowering } from './op-lowering'

const reorderFields = ({ extents: [batch, channels, height, width] }: TileTensor) => ({ batch, channels, height, width })

/** [B, C, H, W] to [B, CHW] in row-major order. */
export const flatten: OpLowering<'flatten'> = {
  access: wholeImageAccess,
  saves: {},
  inPlace: false,
  outputLayout: plainLayout,
  forward: ({ builder }, { source, destination }) =>
    builder.launch<'reorderActivation'>(
      {
        kind: 'reorderActivation',
        ...reorderFields(source),
        sourceLayout: layoutCode(source.layout),
        destinationLayout: layoutCode('plain')
      },
      { source: source.address, destination: destination.address }
    ),
  backward: ({ builder }, _, { destination, source }) =>
    builder.launch<'reorderActivation'>(
      {
        kind: 'reorderActivation',
        ...reorderFields(source!),
        sourceLayout: layoutCode('plain'),
        destinationLayout: layoutCode(source!.layout)
      },
      { source: destination!.address, destination: source!.address }
    )
}

/** A product of rows of features by a weight [out, in], and a bias. */
export const linear: OpLowering<'linear'> = {
  access: sameAccess,
  parameters: ({ out, bias }, inFeatures) => weightAndBias([out, inFeatures], out, bias),
  multiplyAdds: productsPerOutput,
  saves: { input: 'for-weights' },
  inPlace: false,
  outputLayout: plainLayout,
  forward: (scope, { source, destination, parameters, node }) => {
    const { weight, bias } = requireParameters(parameters)
    scope.builder.launch<'linearForward'>(
      { kind: 'linearForward', batch: source.extents[0], inFeatures: node.input[1], outFeatures: node.output[1] },
      {
        source: source.address,
        weights: weightsIn(scope, weight, weight.forwardLayout),
        bias: bias === undefined ? noOperand : arenaOperand(bias.buffer),
        destination: destination.address
      }
    )
  },
  backward: ({ builder }, { source, node }, gradients) => {
    const fields = { batch: source.extents[0], inFeatures: node.input[1], outFeatures: node.output[1] }
    const { address: destinationGradient } = gradients.destination!
    if (gradients.weight !== noOperand)
      builder.launch<'linearBackwardWeights'>(
        { kind: 'linearBackwardWeights', ...fields },
        { source: source.address, destinationGradient, weightGradient: gradients.weight, biasGradient: gradients.bias }
      )
    if (gradients.source === undefined) return
    builder.launch<'linearBackwardData'>(
      { kind: 'linearBackwardData', ...fields },
      { destinationGradient, weights: gradients.backwardWeights(), sourceGradient: gradients.source.address }
    )
  }
}
