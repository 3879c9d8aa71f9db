import { reductionAccess, rowReductionAccess } from '../../access'
import { elementsOf } from '../../extents'
import { microBatches } from '../../objective'
import type { Context, Step } from '../context'
import { exchanged, none } from '../emitter'
import { inExchange } from '../tensors'
import { plainLayout, type NodeFor, type OpLowering } from './op-lowering'

const labelBytes = 4

const rowsOf = (
  { exchange, objective, parameterBytes }: Context,
  { source, node, sourceRegion: { from, advance } }: Step<NodeFor<'softmaxCrossEntropy'>>
) => {
  const ofRows = (offset: number, bytes: number) => exchanged(offset + from[0] * bytes, [advance[0] * bytes, 0, 0])
  return {
    fields: { batch: source.extents[0], classes: node.input[1], fullBatch: node.input[0] * microBatches(objective) },
    labels: ofRows(exchange.target, labelBytes),
    rowWeights: objective.kind === 'train' && objective.rowWeights === true ? ofRows(exchange.rowWeights, parameterBytes) : none
  }
}

/** Mean over the rows of all micro-batches of an update; the exchanged loss also counts the rows whose largest logit is the label's. */
export const softmaxCrossEntropy: OpLowering<'softmaxCrossEntropy'> = {
  access: rowReductionAccess,
  saves: { input: 'always' },
  inPlace: false,
  outputLayout: plainLayout,
  forward: (context, step) => {
    const { fields, labels, rowWeights } = rowsOf(context, step)
    context.emit.launch<'softmaxCrossEntropyForward'>(
      { kind: 'softmaxCrossEntropyForward', ...fields },
      { source: step.source.address, labels, rowWeights, loss: exchanged(context.exchange.loss) }
    )
  },
  backward: (context, step, { source }) => {
    const { fields, labels, rowWeights } = rowsOf(context, step)
    context.emit.launch<'softmaxCrossEntropyBackward'>(
      { kind: 'softmaxCrossEntropyBackward', ...fields },
      { source: step.source.address, labels, rowWeights, sourceGradient: source!.address }
    )
  }
}

const targetOf = ({ exchange, parameterBytes, objective }: Context, { source, node, sourceRegion }: Step<NodeFor<'meanSquaredError'>>) => {
  const { fields, address } = inExchange(source, node.input, sourceRegion, exchange.target, parameterBytes)
  return { fields: { ...fields, count: elementsOf(node.input) * microBatches(objective) }, target: address }
}

/** Mean over all elements of the predictions for all micro-batches of an update. */
export const meanSquaredError: OpLowering<'meanSquaredError'> = {
  access: reductionAccess,
  saves: { input: 'always' },
  inPlace: false,
  outputLayout: plainLayout,
  forward: (context, step) => {
    const { fields, target } = targetOf(context, step)
    context.emit.launch<'meanSquaredErrorForward'>(
      { kind: 'meanSquaredErrorForward', ...fields },
      { source: step.source.address, target, loss: exchanged(context.exchange.loss) }
    )
  },
  backward: (context, step, { source }) => {
    const { fields, target } = targetOf(context, step)
    context.emit.launch<'meanSquaredErrorBackward'>(
      { kind: 'meanSquaredErrorBackward', ...fields },
      { source: step.source.address, target, sourceGradient: source!.address }
    )
  }
}
