import { accumulatesStatistics } from '../../graph/statistics'
import { boundaryTensors } from '../../graph/boundary-tensors'
import type { Span } from '../../graph/span'
import { isRandom } from '../../ops'
import type { ModelScope } from '../scope/scope'
import { mayEndWhole } from '../tile/pass'

/**
 * Numbers spans of nodes. Those with the same number are lowered to the same kernels over buffers
 * of the same sizes: deep networks repeat their blocks.
 */
export const structuralIds = (scope: ModelScope): ((span: Span) => number) => {
  const { graph, layouts, parameters, requiresGrad } = scope
  const [ofNodes, ofSpans] = [numbering(), numbering()]
  const ofTensor = (tensor: number): readonly unknown[] => [layouts[tensor], requiresGrad[tensor]]
  const nodes = graph.nodes.map((node, position) => {
    const { op, args, input, output } = node
    const { weight, bias } = parameters[position] ?? {}
    const ofParameters = [weight, bias].map(
      (one) =>
        one && [
          ...[one.shape, one.layout, one.forwardLayout, one.backwardLayout, one.transformed, one.storedForWinograd, one.normalisable],
          ...[one.learning !== undefined, one.gradient !== undefined]
        ]
    )
    // Masks are drawn by the layer's position.
    const own = isRandom(node) ? position : 0
    return ofNodes(JSON.stringify([op, args, input, output, ofParameters, ofTensor(position + 1), own]))
  })
  const { length } = nodes
  const keyOf = (span: Span): string => {
    const { from, to } = span
    /**
     * Beyond the span only who accumulates moments of a tensor matters, and whether any reads it.
     */
    const readers = (tensor: number): string =>
      graph.readers[tensor]!.map((reader) => {
        if (from <= reader && reader < to) return reader - from
        const side = reader < from ? '<' : '>'
        return accumulatesStatistics(graph.nodes[reader]!) ? `${side}${nodes[reader]!}` : side
      }).join()
    const inputs = boundaryTensors(graph, span).inputs.map((tensor) => {
      const extents = tensor === 0 ? graph.input : graph.nodes[tensor - 1]!.output
      return [from - tensor, tensor === 0, ...ofTensor(tensor), extents, readers(tensor)].join()
    })
    const inside = nodes
      .slice(from, to)
      .map(
        (node, index) => `${node}:${graph.nodes[from + index]!.inputs.map((tensor) => from - tensor).join()}:${readers(from + index + 1)}`
      )
    return [from === 0, to === length, to < length && mayEndWhole(scope, span), ...inputs, '', ...inside].join(';')
  }
  const known = new Map<number, number>()
  return (span) => {
    const place = span.from * (length + 1) + span.to
    const found = known.get(place) ?? ofSpans(keyOf(span))
    known.set(place, found)
    return found
  }
}

/** Gives each new key the next number. */
const numbering = (): ((key: string) => number) => {
  const known = new Map<string, number>()
  return (key) => {
    const number = known.get(key) ?? known.size
    known.set(key, number)
    return number
  }
}
