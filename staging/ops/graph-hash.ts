import { createHash } from 'node:crypto'
import type { Graph, Node } from '../graph/graph'
import { recordOf } from '.'

const identityOf = ({ op, args }: Node): readonly unknown[] => recordOf(op).identity?.(args) ?? [op, args]

/** Identifies a graph in a plan: 64 hexadecimal digits over names, ops, arguments and shapes. */
export const graphHash = (graph: Graph): string =>
  createHash('sha256')
    .update(JSON.stringify([graph.input, graph.nodes.map((node) => [node.name, ...identityOf(node), node.inputs, node.output])]))
    .digest('hex')
