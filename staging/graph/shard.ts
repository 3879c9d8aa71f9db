import { memoizePerObject } from '../memoize'
import type { Graph, Node, Shard } from './graph'
import { fusibleTileAxes, ownedExtent } from './grid'
import { effectiveTileCount } from './interval'
import type { Span } from './span'
import { barriers } from './statistics'
import { type AxisPart, tileRunsOfParts } from './tile-runs'
import type { PlanShards } from '../../dsl/internal'

/** Dimensions along which ranks can share a segment. */
export type ShardAxis = 'B' | 'H'

/** What a rank has of a segment: a part of its images, and of the rows of each. */
export interface SegmentShard extends Shard {
  readonly parts: { readonly [A in ShardAxis]: AxisPart }
}

/** Whether each of so many parts has something of what an op makes, or sums. */
const hasPartsForAll = (node: Node, axis: ShardAxis, count: number): boolean => {
  const extent = ownedExtent(node, axis)
  return extent >= count && effectiveTileCount(extent, count) === count
}

/** By position: the first op from there on that has too little for so many parts. */
const nextLacks = memoizePerObject(
  (_: readonly Node[], axis: ShardAxis, count: number) => `${axis}${count}`,
  (nodes, axis, count) =>
    nodes.reduceRight<readonly number[]>(
      (after, node, position) => [hasPartsForAll(node, axis, count) ? (after[0] ?? nodes.length) : position, ...after],
      []
    )
)

/** A span, and what a plan says of how ranks share it, where it does. */
interface PlannedSpan extends Span {
  readonly shards?: PlanShards
}

/** Where a rank is among parts: those with the same images follow each other. */
const shardOf = (shard: Shard, { B, H }: PlanShards): SegmentShard => ({
  ...shard,
  parts: { B: { count: B, index: Math.floor(shard.index / H) }, H: { count: H, index: shard.index % H } }
})

/** How ranks share what a plan says nothing of. */
const meshOf = ({ count, images = 1 }: Shard): PlanShards => ({ B: images, H: count / images })

/** What a rank has of what a plan says nothing of. */
export const meshShard = (shard: Shard): SegmentShard => shardOf(shard, meshOf(shard))

/** Whether a span can be cut into so many parts along an axis, none of which sees padding alone. */
const canShard = (graph: Graph, span: Span, axis: ShardAxis, count: number): boolean =>
  count === 1 ||
  (nextLacks(graph.nodes, axis, count)[span.from]! >= span.to &&
    fusibleTileAxes(graph, span).includes(axis) &&
    tileRunsOfParts(graph, span, axis, 1, count) !== undefined)

/**
 * The part that a rank has in the tiles of a span, where ranks share a batch: of a span whose
 * tiles can be cut along the axes, of which all ops have something for all parts, which all see
 * more than padding, and inside of which no statistics are taken, unless a plan says that every
 * rank runs it alike. Any other does.
 */
export const findShard = (graph: Graph, span: PlannedSpan): SegmentShard | undefined => {
  const { shard } = graph
  if (shard === undefined) return undefined
  const shards = span.shards ?? meshOf(shard)
  if (shards.B * shards.H !== shard.count) return undefined
  if (!canShard(graph, span, 'H', shards.H) || !canShard(graph, span, 'B', shards.B)) return undefined
  return barriers(graph, span).length > 0 ? undefined : shardOf(shard, shards)
}
