import { reductionAccess } from '../graph/access'
import type { OpStep } from '../lowering/scope/op-step'
import { stepIoOperand } from '../lowering/ir/builder'
import { inStepIo } from '../lowering/scope/regions'
import type { TileScope } from '../lowering/scope/scope'
import { lossFunctions } from '../pointwise/loss-functions'
import { rowWeightsAt } from './losses'
import { plainLayout, type NodeFor, type OpLowering } from './op-lowering'

const readOperands = (scope: TileScope, { source, node, sourceRegion }: OpStep<NodeFor<'valueLoss'>>) => {
  const { stepIo, parameterBytes } = scope
  const { fields, address } = inStepIo(source, node.input, sourceRegion, stepIo.target, parameterBytes)
  const normaliser = stepIoOperand(stepIo.normaliser)
  return { fields, operands: { source: source.address, target: address, rowWeights: rowWeightsAt(scope, sourceRegion), normaliser } }
}

/**
 * Divided by what comes with the step: the elements that count, of all micro-batches of an update.
 */
export const valueLoss: OpLowering<'valueLoss'> = {
  access: reductionAccess,
  saves: { input: 'always' },
  inPlace: false,
  outputLayout: plainLayout,
  forward: (scope, step) => {
    const { fields, operands } = readOperands(scope, step)
    const { forward } = lossFunctions(step.node.args.loss, step.node.input[1])
    scope.builder.launch<'valueLossForward'>(
      { kind: 'valueLossForward', ...fields, expression: forward },
      { ...operands, loss: stepIoOperand(scope.stepIo.loss) }
    )
  },
  backward: (scope, step, { source }) => {
    const { fields, operands } = readOperands(scope, step)
    const { backward } = lossFunctions(step.node.args.loss, step.node.input[1])
    scope.builder.launch<'valueLossBackward'>(
      { kind: 'valueLossBackward', ...fields, expression: backward },
      { ...operands, sourceGradient: source!.address }
    )
  }
}
