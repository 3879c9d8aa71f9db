import { memoizePerObject } from '../memoize'
import type { Graph, Node, Shard } from './graph'
import { fusibleTileAxes, ownedExtent } from './grid'
import { effectiveTileCount } from './interval'
import type { Span } from './span'
import type { PlanShards } from '../../dsl/internal'

/** Whether each of so many ranks has rows of what an op makes, or sums. */
const hasRowsForAll = (node: Node, count: number): boolean => {
  const rows = ownedExtent(node, 'H')
  return rows >= count && effectiveTileCount(rows, count) === count
}

/** By position: the first op from there on that has too few rows for all ranks. */
const nextLacks = memoizePerObject(
  (_: readonly Node[], count: number) => count,
  (nodes, count) =>
    nodes.reduceRight<readonly number[]>(
      (after, node, position) => [hasRowsForAll(node, count) ? (after[0] ?? nodes.length) : position, ...after],
      []
    )
)

/** A span, and what a plan says of how ranks share it, where it does. */
interface PlannedSpan extends Span {
  readonly shards?: PlanShards
}

/**
 * The part that a rank has in the tiles of a span, where ranks share rows: those of a span whose
 * tiles can be cut along H, and of which all ops have rows for all ranks, unless a plan says that
 * every rank runs it alike. Any other does.
 */
export const findShard = (graph: Graph, span: PlannedSpan): Shard | undefined => {
  const { shard } = graph
  if (shard === undefined || span.shards?.H === 1 || nextLacks(graph.nodes, shard.count)[span.from]! < span.to) return undefined
  return fusibleTileAxes(graph, span).includes('H') ? shard : undefined
}
