import { reductionAccess, rowReductionAccess } from '../graph/access'
import { elementCount } from '../graph/extents'
import { microBatches } from '../graph/objective'
import type { Step } from '../lowering/scope/op-step'
import { exchangeOperand, noOperand } from '../lowering/ir/builder'
import { inExchange } from '../lowering/scope/regions'
import type { TileScope } from '../lowering/scope/scope'
import { plainLayout, type NodeFor, type OpLowering } from './op-lowering'

const labelBytes = 4

const rowsOf = (
  { graph: { objective }, stepIo, parameterBytes }: TileScope,
  { source, node, sourceRegion: { from, advance } }: Step<NodeFor<'softmaxCrossEntropy'>>
) => {
  const ofRows = (offset: number, bytes: number) => exchangeOperand(offset + from[0] * bytes, [advance[0] * bytes, 0, 0])
  return {
    fields: { batch: source.extents[0], classes: node.input[1], fullBatch: node.input[0] * microBatches(objective) },
    labels: ofRows(stepIo.target, labelBytes),
    rowWeights: objective.kind === 'train' && objective.rowWeights === true ? ofRows(stepIo.rowWeights, parameterBytes) : noOperand
  }
}

/**
 * Mean over the rows of all micro-batches of an update; the exchanged loss also counts the rows
 * whose largest logit is the label's.
 */
export const softmaxCrossEntropy: OpLowering<'softmaxCrossEntropy'> = {
  access: rowReductionAccess,
  saves: { input: 'always' },
  inPlace: false,
  outputLayout: plainLayout,
  forward: (scope, step) => {
    const { fields, labels, rowWeights } = rowsOf(scope, step)
    scope.builder.launch<'softmaxCrossEntropyForward'>(
      { kind: 'softmaxCrossEntropyForward', ...fields },
      { source: step.source.address, labels, rowWeights, loss: exchangeOperand(scope.stepIo.loss) }
    )
  },
  backward: (scope, step, { source }) => {
    const { fields, labels, rowWeights } = rowsOf(scope, step)
    scope.builder.launch<'softmaxCrossEntropyBackward'>(
      { kind: 'softmaxCrossEntropyBackward', ...fields },
      { source: step.source.address, labels, rowWeights, sourceGradient: source!.address }
    )
  }
}

const targetOf = (
  { graph: { objective }, stepIo, parameterBytes }: TileScope,
  { source, node, sourceRegion }: Step<NodeFor<'meanSquaredError'>>
) => {
  const { fields, address } = inExchange(source, node.input, sourceRegion, stepIo.target, parameterBytes)
  return { fields: { ...fields, count: elementCount(node.input) * microBatches(objective) }, target: address }
}

/** Mean over all elements of the predictions for all micro-batches of an update. */
export const meanSquaredError: OpLowering<'meanSquaredError'> = {
  access: reductionAccess,
  saves: { input: 'always' },
  inPlace: false,
  outputLayout: plainLayout,
  forward: (scope, step) => {
    const { fields, target } = targetOf(scope, step)
    scope.builder.launch<'meanSquaredErrorForward'>(
      { kind: 'meanSquaredErrorForward', ...fields },
      { source: step.source.address, target, loss: exchangeOperand(scope.stepIo.loss) }
    )
  },
  backward: (scope, step, { source }) => {
    const { fields, target } = targetOf(scope, step)
    scope.builder.launch<'meanSquaredErrorBackward'>(
      { kind: 'meanSquaredErrorBackward', ...fields },
      { source: step.source.address, target, sourceGradient: source!.address }
    )
  }
}
