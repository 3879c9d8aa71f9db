import { reductionAccess, rowReductionAccess } from '../graph/access'
import { elementCount } from '../graph/extents'
import { microBatches } from '../graph/objective'
import type { OpStep } from '../lowering/scope/op-step'
import { stepIoOperand, noOperand, type UnplacedOperand } from '../lowering/ir/builder'
import type { Region } from '../lowering/ir/tile-tensor'
import { inStepIo } from '../lowering/scope/regions'
import type { ModelScope, TileScope } from '../lowering/scope/scope'
import { labelBytes } from '../lowering/scope/step-io'
import { plainLayout, type NodeFor, type OpLowering } from './op-lowering'

/** Where the weights of a tile's rows are, if rows have weights. */
export const rowWeightsAt = (
  { stepIo: { rowWeights }, parameterBytes }: Pick<ModelScope, 'stepIo' | 'parameterBytes'>,
  { from, advance }: Region
): UnplacedOperand =>
  rowWeights === undefined ? noOperand : stepIoOperand(rowWeights + from[0] * parameterBytes, [advance[0] * parameterBytes, 0, 0])

const makeRowFields = (scope: TileScope, { source, node, sourceRegion }: OpStep<NodeFor<'softmaxCrossEntropy'>>) => {
  const { from, advance } = sourceRegion
  return {
    fields: { batch: source.extents[0], classes: node.input[1], fullBatch: node.input[0] * microBatches(scope.graph.objective) },
    labels: stepIoOperand(scope.stepIo.target + from[0] * labelBytes, [advance[0] * labelBytes, 0, 0]),
    rowWeights: rowWeightsAt(scope, sourceRegion)
  }
}

/**
 * Mean over the rows of all micro-batches of an update; the loss that is given out also counts the
 * rows whose largest logit is the label's.
 */
export const softmaxCrossEntropy: OpLowering<'softmaxCrossEntropy'> = {
  access: rowReductionAccess,
  saves: { input: 'always' },
  inPlace: false,
  outputLayout: plainLayout,
  forward: (scope, step) => {
    const { fields, labels, rowWeights } = makeRowFields(scope, step)
    scope.builder.launch<'softmaxCrossEntropyForward'>(
      { kind: 'softmaxCrossEntropyForward', ...fields },
      { source: step.source.address, labels, rowWeights, loss: stepIoOperand(scope.stepIo.loss) }
    )
  },
  backward: (scope, step, { source }) => {
    const { fields, labels, rowWeights } = makeRowFields(scope, step)
    scope.builder.launch<'softmaxCrossEntropyBackward'>(
      { kind: 'softmaxCrossEntropyBackward', ...fields },
      { source: step.source.address, labels, rowWeights, sourceGradient: source!.address }
    )
  }
}

const targetOperand = (
  { graph: { objective }, stepIo, parameterBytes }: TileScope,
  { source, node, sourceRegion }: OpStep<NodeFor<'meanSquaredError'>>
) => {
  const { fields, address } = inStepIo(source, node.input, sourceRegion, stepIo.target, parameterBytes)
  return { fields: { ...fields, count: elementCount(node.input) * microBatches(objective) }, target: address }
}

/** Mean over all elements of the predictions for all micro-batches of an update. */
export const meanSquaredError: OpLowering<'meanSquaredError'> = {
  access: reductionAccess,
  saves: { input: 'always' },
  inPlace: false,
  outputLayout: plainLayout,
  forward: (scope, step) => {
    const { fields, target } = targetOperand(scope, step)
    scope.builder.launch<'meanSquaredErrorForward'>(
      { kind: 'meanSquaredErrorForward', ...fields },
      { source: step.source.address, target, loss: stepIoOperand(scope.stepIo.loss) }
    )
  },
  backward: (scope, step, { source }) => {
    const { fields, target } = targetOperand(scope, step)
    scope.builder.launch<'meanSquaredErrorBackward'>(
      { kind: 'meanSquaredErrorBackward', ...fields },
      { source: step.source.address, target, sourceGradient: source!.address }
    )
  }
}
