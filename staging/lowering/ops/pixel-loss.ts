import { reductionAccess } from '../../access'
import type { Context, Step } from '../context'
import { exchanged, none } from '../emitter'
import { inExchange, tileFields } from '../tensors'
import { plainLayout, type NodeFor, type OpLowering } from './op-lowering'

const labelBytes = 4

const readOf = (
  { exchange }: Context,
  { node, source, sourceRegion }: Pick<Step<NodeFor<'pixelCrossEntropy'>>, 'node' | 'source' | 'sourceRegion'>
) => {
  const [batch, , height, width] = node.input
  return {
    fields: { ignored: node.args.ignore ?? 255, fullHeight: height, fullWidth: width, ...tileFields(source) },
    operands: {
      source: source.address,
      labels: inExchange(source, [batch, 1, height, width], sourceRegion, exchange.target, labelBytes).address,
      classWeights: node.args.classWeights === undefined ? none : exchanged(exchange.classWeights),
      normaliser: exchanged(exchange.normaliser)
    }
  }
}

/** Divided by what comes with the step: the weights of all pixels that count, of all micro-batches of an update. */
export const pixelCrossEntropy: OpLowering<'pixelCrossEntropy'> = {
  access: reductionAccess,
  saves: { input: 'always' },
  inPlace: false,
  outputLayout: plainLayout,
  forward: (context, step) => {
    const { fields, operands } = readOf(context, step)
    context.emit.launch<'pixelCrossEntropyForward'>(
      { kind: 'pixelCrossEntropyForward', ...fields },
      { ...operands, loss: exchanged(context.exchange.loss) }
    )
  },
  backward: (context, step, { source }) => {
    const { fields, operands } = readOf(context, step)
    context.emit.launch<'pixelCrossEntropyBackward'>(
      { kind: 'pixelCrossEntropyBackward', ...fields },
      { ...operands, sourceGradient: source!.address }
    )
  }
}
