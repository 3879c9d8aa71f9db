import { elementsOf } from '../../graph'
import type { Context, Step } from '../context'
import { exchanged, none } from '../emitter'
import { inExchange } from '../tensors'
import { plainLayout, type NodeFor, type OpLowering } from './op-lowering'

const labelBytes = 4

const rowsOf = ({ exchange }: Context, { source, node, sourceRegion }: Step<NodeFor<'softmaxCrossEntropy'>>) => ({
  fields: { batch: source.extents[0], classes: node.input[1], fullBatch: node.input[0] },
  labels: exchanged(exchange.target + sourceRegion.from[0] * labelBytes, [sourceRegion.advance[0] * labelBytes, 0, 0])
})

/** Mean over the batch; the exchanged loss also counts the rows whose largest logit is the label's. */
export const softmaxCrossEntropy: OpLowering<'softmaxCrossEntropy'> = {
  keeps: { input: true },
  inPlace: false,
  outputLayout: plainLayout,
  forward: (context, step) => {
    const { fields, labels } = rowsOf(context, step)
    context.emit.launch<'softmaxCrossEntropyForward'>(
      { kind: 'softmaxCrossEntropyForward', ...fields },
      { source: step.source.address, labels, rowWeights: none, loss: exchanged(context.exchange.loss) }
    )
  },
  backward: (context, step, { source }) => {
    const { fields, labels } = rowsOf(context, step)
    context.emit.launch<'softmaxCrossEntropyBackward'>(
      { kind: 'softmaxCrossEntropyBackward', ...fields },
      { source: step.source.address, labels, rowWeights: none, sourceGradient: source!.address }
    )
  }
}

const targetOf = ({ exchange, elementBytes }: Context, { source, node, sourceRegion }: Step<NodeFor<'meanSquaredError'>>) => {
  const { fields, address } = inExchange(source, node.input, sourceRegion, exchange.target, elementBytes)
  return { fields: { ...fields, count: elementsOf(node.input) }, target: address }
}

/** Mean over all elements of the prediction. */
export const meanSquaredError: OpLowering<'meanSquaredError'> = {
  keeps: { input: true },
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
