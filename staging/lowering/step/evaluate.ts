import { forEvaluation } from '../../graph/graph'
import { elementsOf } from '../../graph/extents'
import { allBetween } from '../segment/bind'
import type { Context } from '../scope/scope'
import { exchanged, type Emitter } from '../ir/builder'
import { evaluationExchangeOf, handsOutLoss } from '../scope/step-io'
import { openMoments } from '../ops/moment-addresses'
import { emitForward, type SegmentCode } from '../segment/segment'

/**
 * Forward alone through a step's segments, in tensors of its own: nothing is kept, dropout is off, batches are normalised by running
 * statistics, and the loss's input is handed out, of pixels the best class, beside their loss where there is a target for them.
 */
export const emitEvaluation = (training: Context, emit: Emitter, codes: readonly SegmentCode[]): void => {
  const exchange = evaluationExchangeOf(training).offsets
  const graph = forEvaluation(training.graph)
  const context: Context = { ...training, emit, exchange, graph, moments: openMoments({ graph, emit }) }
  const loss = graph.nodes[graph.nodes.length - 1]!
  const between = allBetween(
    context,
    codes.map(({ segment }) => segment)
  )
  if (handsOutLoss(training)) emit.launch<'zero'>({ kind: 'zero', bytes: 16 }, { destination: exchanged(exchange.loss) })
  // Tiles add their scores.
  if (loss.op !== 'pixelCrossEntropy')
    emit.launch<'zero'>(
      { kind: 'zero', bytes: elementsOf(loss.input) * context.parameterBytes },
      { destination: exchanged(exchange.scores) }
    )
  codes.forEach((code) => emitForward(context, { ...code, ...between }, 'evaluate'))
}
