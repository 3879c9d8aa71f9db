import { reduces, type Graph, type Node, type Shard } from './graph'
import { fusibleTileAxes, isSliced, ownedExtent } from './grid'
import { effectiveTileCount } from './interval'
import type { Span } from './span'

/** Whether each of so many ranks has rows of what an op makes, or sums. */
const hasRowsForAll = (node: Node, count: number): boolean => {
  const rows = ownedExtent(node, 'H')
  return rows >= count && effectiveTileCount(rows, count) === count
}

const knownEnds = new WeakMap<readonly Node[], Map<number, number>>()

/**
 * The position from which on ops have no rows to share: after the first that sums rows away, or at
 * the first that reads all of them, or that has too few for all ranks.
 */
const endOfRows = ({ nodes }: Graph, count: number): number => {
  const known = knownEnds.get(nodes) ?? new Map<number, number>()
  knownEnds.set(nodes, known)
  const isEnd = (node: Node, position: number): boolean => {
    const before = nodes[position - 1]
    return (
      (before !== undefined && reduces(before, 'H')) || (!reduces(node, 'H') && !isSliced(node.access.H)) || !hasRowsForAll(node, count)
    )
  }
  const found = known.get(count) ?? nodes.findIndex(isEnd)
  const end = found === -1 ? nodes.length : found
  known.set(count, end)
  return end
}

/**
 * The part that a rank has in the tiles of a span, where ranks share rows: those of a span whose
 * tiles can be cut along H, which begins before all that has no rows. What stands behind runs on
 * every rank alike.
 */
export const shardOf = (graph: Graph, span: Span): Shard | undefined => {
  const { shard, nodes } = graph
  if (shard === undefined || span.from >= endOfRows(graph, shard.count)) return undefined
  return hasRowsForAll(nodes[span.to - 1]!, shard.count) && fusibleTileAxes(graph, span).includes('H') ? shard : undefined
}
