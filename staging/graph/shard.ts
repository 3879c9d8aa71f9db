import { reduces, type Graph, type Shard } from './graph'
import { fusibleTileAxes, isSliced } from './grid'
import type { Span } from './span'

const knownBeginnings = new WeakMap<readonly unknown[], number>()

/**
 * The position from which on ops have no rows to share: after the first that sums rows away, or at
 * the first that reads all of them.
 */
const endOfRows = ({ nodes }: Graph): number => {
  const found =
    knownBeginnings.get(nodes) ??
    nodes.findIndex((node, position) => {
      const before = position === 0 ? undefined : nodes[position - 1]!
      return (before !== undefined && reduces(before, 'H')) || (!reduces(node, 'H') && !isSliced(node.access.H))
    })
  const end = found === -1 ? nodes.length : found
  knownBeginnings.set(nodes, end)
  return end
}

/**
 * The part that a rank has in the tiles of a span, where ranks share rows: those of a span whose
 * tiles can be cut along H, which stands before all that has no rows. What stands behind runs on
 * every rank alike.
 */
export const shardOf = (graph: Graph, span: Span): Shard | undefined =>
  graph.shard !== undefined && span.from < endOfRows(graph) && fusibleTileAxes(graph, span).includes('H') ? graph.shard : undefined
