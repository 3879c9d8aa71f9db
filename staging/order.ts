import type { Graph, Node } from './graph'

/** The order in which the model's ops run: positions in its flattened list. */
export type Order = readonly number[]

export const asWritten = (graph: Graph): Order => graph.nodes.map((_, position) => position)

const isRectifier = (node: Node): boolean => node.op === 'relu' || node.op === 'leakyRelu'

/**
 * Max pooling moves before the rectifier that it follows. Both are monotone, so values and gradients stay the same, bit
 * for bit: where the largest of a window is not above zero, the same element wins or no gradient passes. But the rectifier
 * then works on the pooled tensor, and the large one, which pooling does not need in backward, is not kept. (A leaky slope
 * of zero or more; not where the model puts a mark between the two.)
 */
export const poolBeforeRectifying = (graph: Graph): Order => {
  const marked = new Set(graph.marks.map(({ kind, at }) => (kind === 'checkpoint' ? at : at + 1)))
  const order = [...asWritten(graph)]
  for (let position = 0; position + 1 < order.length; position++) {
    const [first, second] = [graph.nodes[order[position]!]!, graph.nodes[order[position + 1]!]!]
    if (isRectifier(first) && second.op === 'maxPool2d' && !marked.has(position + 1)) {
      ;[order[position], order[position + 1]] = [order[position + 1]!, order[position]!]
      position++
    }
  }
  return order
}

/** The graph as it runs in an order that only exchanges neighbours of which one is pointwise. */
export const inOrder = (graph: Graph, order: Order): Graph => {
  let extents = graph.input
  const nodes = order.map((position): Node => {
    const node = graph.nodes[position]!
    const moved = isRectifier(node) ? { ...node, input: extents, output: extents } : node
    extents = moved.output
    return moved
  })
  return { ...graph, nodes }
}
