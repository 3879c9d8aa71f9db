import { canCommute } from '../../dsl/internal'
import { memoizePerObject } from '../memoize'
import { findReaders, type Graph, type Node } from './graph'
import { requestedCheckpoints } from './directives'

/** The order in which the model's ops run: positions in its flattened list. */
export type Order = readonly number[]

/** The order in which the model's layers are written. */
export const sourceOrder = (graph: Graph): Order => graph.nodes.map((_, position) => position)

/**
 * Algorithm 1 of "Efficient GPU memory management for nonlinear DNNs" (Dymem, Yang 2020): an op
 * runs as soon as all that it reads is there, and after it what reads it; so each branch of a block
 * runs to its end before the next one begins. Models are written branch after branch, and run as
 * written.
 */
export const depthFirst = ({ nodes, readers }: Graph): Order => {
  const order: number[] = []
  const missing = nodes.map(({ inputs }) => new Set(inputs).size)
  const visitReaders = (tensor: number): void =>
    readers[tensor]!.forEach((reader) => {
      if (--missing[reader]! > 0) return
      order.push(reader)
      visitReaders(reader + 1)
    })
  visitReaders(0)
  return order
}

/**
 * Max pooling moves before the rectifier that it follows. Both are monotone, so values stay the
 * same, bit for bit, and so do gradients: where the largest of a window is not above zero, the same
 * element wins or no gradient passes. (Unless a leaky slope rounds two negative elements to the
 * same number, of which the first wins.) But the rectifier then works on the pooled tensor, and the
 * large one, which pooling does not need in backward, is not kept. Not where the model puts a
 * checkpoint between the two, where something else reads the rectifier's output, nor after a
 * normalisation, which rectifies by itself.
 */
export const hoistPoolAboveRelu = (graph: Graph): Order => {
  const checkpoints = new Set(requestedCheckpoints(graph))
  const order = [...sourceOrder(graph)]
  for (let position = 0; position + 1 < order.length; position++) {
    const [first, second] = [graph.nodes[order[position]!]!, graph.nodes[order[position + 1]!]!]
    const alone = graph.readers[position + 1]!.length === 1 && second.inputs[0] === position + 1
    const before = first.inputs[0]! === 0 ? undefined : graph.nodes[first.inputs[0]! - 1]
    const isFused = before?.statistics !== undefined
    if (canCommute(first.op, second.op) && alone && !isFused && !checkpoints.has(position + 1)) {
      ;[order[position], order[position + 1]] = [order[position + 1]!, order[position]!]
      position++
    }
  }
  return order
}

/** Commutes neighbours, of which the first is pointwise and the second its only reader. */
const withCommuted = (graph: Graph, order: Order): readonly Node[] =>
  order.map((position, at): Node => {
    const node = graph.nodes[position]!
    if (position > at) return { ...node, inputs: graph.nodes[at]!.inputs }
    if (position === at) return node
    const { output } = graph.nodes[at]!
    return { ...node, inputs: [at], input: output, output }
  })

/** Returns the nodes in another order, with tensors numbered as they are then made. */
const renumber = ({ nodes }: Graph, order: Order, places: readonly number[]): readonly Node[] =>
  order.map((position) => {
    const node = nodes[position]!
    return { ...node, inputs: node.inputs.map((tensor) => (tensor === 0 ? 0 : places[tensor - 1]! + 1)) }
  })

const reorder = memoizePerObject(
  (_: Graph, order: Order) => order.join(),
  (graph, order): Graph => {
    const places: number[] = []
    order.forEach((position, at) => (places[position] = at))
    const isAfterInputs = graph.nodes.every(({ inputs }, position) =>
      inputs.every((tensor) => tensor === 0 || places[tensor - 1]! < places[position]!)
    )
    const nodes = isAfterInputs ? renumber(graph, order, places) : withCommuted(graph, order)
    return { ...graph, nodes, readers: findReaders(nodes) }
  }
)

/**
 * The graph with its nodes in an order in which they run: each op after what it reads, or else with
 * neighbours commuted as `hoistPoolAboveRelu` does. Remembered: what is known of the graph in an
 * order serves whoever asks for it again.
 */
export const inOrder = <G extends Graph>(graph: G, order: Order): G => reorder(graph, order) as G
