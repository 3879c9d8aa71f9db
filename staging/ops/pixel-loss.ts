import { reductionAccess } from '../graph/access'
import type { OpStep } from '../lowering/scope/op-step'
import { stepIoOperand, noOperand } from '../lowering/ir/builder'
import { inStepIo, tileFields } from '../lowering/scope/regions'
import type { TileScope } from '../lowering/scope/scope'
import { labelBytes } from '../lowering/scope/step-io'
import { plainLayout, type NodeFor, type OpLowering } from './op-lowering'

const readOperands = (
  { stepIo }: TileScope,
  { node, source, sourceRegion }: Pick<OpStep<NodeFor<'pixelCrossEntropy'>>, 'node' | 'source' | 'sourceRegion'>
) => {
  const [batch, , height, width] = node.input
  return {
    fields: { ignored: node.args.ignore ?? 255, fullHeight: height, fullWidth: width, ...tileFields(source) },
    operands: {
      source: source.address,
      labels: inStepIo(source, [batch, 1, height, width], sourceRegion, stepIo.target, labelBytes).address,
      classWeights: node.args.classWeights === undefined ? noOperand : stepIoOperand(stepIo.classWeights),
      normaliser: stepIoOperand(stepIo.normaliser)
    }
  }
}

/**
 * Divided by what comes with the step: the weights of all pixels that count, of all micro-batches
 * of an update.
 */
export const pixelCrossEntropy: OpLowering<'pixelCrossEntropy'> = {
  access: reductionAccess,
  inEvaluation: ({ ignore = 255 }) => ({ ignore }),
  saves: { input: 'always' },
  inPlace: false,
  outputLayout: plainLayout,
  forward: (scope, step) => {
    const { fields, operands } = readOperands(scope, step)
    scope.builder.launch<'pixelCrossEntropyForward'>(
      { kind: 'pixelCrossEntropyForward', ...fields },
      { ...operands, loss: stepIoOperand(scope.stepIo.loss) }
    )
  },
  backward: (scope, step, { source }) => {
    const { fields, operands } = readOperands(scope, step)
    scope.builder.launch<'pixelCrossEntropyBackward'>(
      { kind: 'pixelCrossEntropyBackward', ...fields },
      { ...operands, sourceGradient: source!.address }
    )
  }
}
