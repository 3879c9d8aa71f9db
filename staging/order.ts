import type { Graph, Node } from './graph'
import { checkpointsAsked } from './marks'

/** The order in which the model's ops run: positions in its flattened list. */
export type Order = readonly number[]

export const asWritten = (graph: Graph): Order => graph.nodes.map((_, position) => position)

const isRectifier = (node: Node): boolean => node.op === 'relu' || node.op === 'leakyRelu'

/**
 * Max pooling moves before the rectifier that it follows. Both are monotone, so values stay the same, bit for bit, and so do
 * gradients: where the largest of a window is not above zero, the same element wins or no gradient passes. (Unless a leaky
 * slope rounds two negative elements to the same number, of which the first wins.) But the rectifier then works on the pooled
 * tensor, and the large one, which pooling does not need in backward, is not kept. Not where the model puts a checkpoint
 * between the two.
 */
export const poolBeforeRectifying = (graph: Graph): Order => {
  const checkpoints = new Set(checkpointsAsked(graph))
  const order = [...asWritten(graph)]
  for (let position = 0; position + 1 < order.length; position++) {
    const [first, second] = [graph.nodes[order[position]!]!, graph.nodes[order[position + 1]!]!]
    if (isRectifier(first) && second.op === 'maxPool2d' && !checkpoints.has(position + 1)) {
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
