import { elementsOf, withoutDropout } from '../graph'
import { boundaryAt } from './bind'
import type { Context } from './context'
import { exchanged, type Emitter } from './emitter'
import { evaluationExchangeOf } from './exchange'
import { emitForward, type SegmentCode } from './segment'

/** Forward alone through a step's segments, in tensors of its own: nothing is kept, dropout is off, and the loss's input is handed out. */
export const emitEvaluation = (training: Context, emit: Emitter, codes: readonly SegmentCode[]): void => {
  const exchange = evaluationExchangeOf(training).offsets
  const context: Context = { ...training, emit, exchange, graph: withoutDropout(training.graph) }
  const { graph, elementBytes } = context
  const outputs = codes.map(({ segment }) => boundaryAt(context, segment.to)?.tensor)
  const bytes = elementsOf(graph.nodes[graph.nodes.length - 1]!.input) * elementBytes
  // Tiles add their scores.
  emit.launch<'zero'>({ kind: 'zero', bytes }, { destination: exchanged(exchange.scores) })
  codes.forEach((code, index) => emitForward(context, { ...code, input: outputs[index - 1], output: outputs[index] }, 'evaluate'))
}
