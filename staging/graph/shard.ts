import { memoizePerObject } from '../memoize'
import { axisTile, isEmptyTile, ownedParts, partsOfTile } from './axis-tile'
import type { Graph, Node, Shard } from './graph'
import { fusibleTileAxes, ownedExtent } from './grid'
import { effectiveTileCount } from './interval'
import type { Span } from './span'
import { barriers } from './statistics'
import type { PlanShards } from '../../dsl/internal'

/** Dimensions along which ranks can share a segment. */
export type ShardAxis = 'B' | 'H'

/** One of equal parts along an axis. */
export interface AxisPart {
  readonly count: number
  readonly index: number
}

/** What a rank has of a segment: a part of its images, and of the rows of each. */
export interface SegmentShard extends Shard {
  readonly parts: { readonly [A in ShardAxis]: AxisPart }
}

/**
 * Whether each of so many parts has something of what an op makes, or sums, and sees more than
 * padding: parts are in order, so the first or the last lies in padding if any does.
 */
const hasPartsForAll = (graph: Graph, position: number, axis: ShardAxis, count: number): boolean => {
  const extent = ownedExtent(graph.nodes[position]!, axis)
  if (extent < count || effectiveTileCount(extent, count) !== count) return false
  const span: Span = { from: position, to: position + 1 }
  const parts = ownedParts(graph, span, axis, count)
  return [0, count - 1].every((index) => !isEmptyTile(axisTile(graph, span, axis, partsOfTile(parts, index))))
}

/** By position: the first op from there on that has too little for so many parts. */
const nextLacks = memoizePerObject(
  (_: readonly Node[], axis: ShardAxis, count: number, _graph: Graph) => `${axis}${count}`,
  (nodes, axis, count, graph) =>
    nodes.reduceRight<readonly number[]>(
      (after, _, position) => [hasPartsForAll(graph, position, axis, count) ? (after[0] ?? nodes.length) : position, ...after],
      []
    )
)

/** A span, and what a plan says of how ranks share it, where it does. */
interface PlannedSpan extends Span {
  readonly shards?: PlanShards
}

/** Where a rank is among parts: those with the same images follow each other. */
export const shardOf = (shard: Shard, { B, H }: PlanShards): SegmentShard => ({
  ...shard,
  parts: { B: { count: B, index: Math.floor(shard.index / H) }, H: { count: H, index: shard.index % H } }
})

/** How ranks share what a plan says nothing of. */
const meshOf = ({ count, images = 1 }: Shard): PlanShards => ({ B: images, H: count / images })

/** What a rank has of what a plan says nothing of. */
export const meshShard = (shard: Shard): SegmentShard => shardOf(shard, meshOf(shard))

/** Whether a span can be cut into so many parts along an axis. */
const canShard = (graph: Graph, span: Span, axis: ShardAxis, count: number): boolean =>
  count === 1 || (nextLacks(graph.nodes, axis, count, graph)[span.from]! >= span.to && fusibleTileAxes(graph, span).includes(axis))

/**
 * The part that a rank has in the tiles of a span, where ranks share a batch: of a span whose
 * tiles can be cut along the axes, of which all ops have something for all parts, and inside of
 * which no statistics are taken, unless a plan says that every rank runs it alike. Any other does.
 */
export const findShard = (graph: Graph, span: PlannedSpan): SegmentShard | undefined => {
  const { shard } = graph
  if (shard === undefined) return undefined
  const shards = span.shards ?? meshOf(shard)
  if (shards.B * shards.H !== shard.count) return undefined
  if (!canShard(graph, span, 'H', shards.H) || !canShard(graph, span, 'B', shards.B)) return undefined
  return barriers(graph, span).length > 0 ? undefined : shardOf(shard, shards)
}
