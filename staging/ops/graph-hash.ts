import { createHash } from 'node:crypto'
import { earlierName } from '../graph/earlier-names'
import type { Graph, Node } from '../graph/graph'
import { getOpLowering } from '.'

const nodeIdentity = ({ op, args }: Node): readonly unknown[] => getOpLowering(op).identity?.(args) ?? [op, args]

const hashGraph = (graph: Graph, nameOf: (node: Node) => string): string =>
  createHash('sha256')
    .update(JSON.stringify([graph.input, graph.nodes.map((node) => [nameOf(node), ...nodeIdentity(node), node.inputs, node.output])]))
    .digest('hex')

/** Identifies a graph in a plan: 64 hexadecimal digits over names, ops, arguments and shapes. */
export const graphHash = (graph: Graph): string => hashGraph(graph, ({ name }) => name)

/** The hash of the same graph where its layers had other names. */
export const earlierGraphHash = (graph: Graph): string => hashGraph(graph, ({ name }) => earlierName(graph.model, name))
