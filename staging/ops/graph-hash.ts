import { createHash } from 'node:crypto'
import { earlierName } from '../graph/earlier-names'
import type { Graph, Node } from '../graph/graph'
import { recordOf } from '.'

const identityOf = ({ op, args }: Node): readonly unknown[] => recordOf(op).identity?.(args) ?? [op, args]

const hashOf = (graph: Graph, nameOf: (node: Node) => string): string =>
  createHash('sha256')
    .update(JSON.stringify([graph.input, graph.nodes.map((node) => [nameOf(node), ...identityOf(node), node.inputs, node.output])]))
    .digest('hex')

/** Identifies a graph in a plan: 64 hexadecimal digits over names, ops, arguments and shapes. */
export const graphHash = (graph: Graph): string => hashOf(graph, ({ name }) => name)

/** The hash of the same graph where its layers had other names. */
export const earlierGraphHash = (graph: Graph): string => hashOf(graph, ({ name }) => earlierName(graph.model, name))
