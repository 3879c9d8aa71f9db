import type { PlanShards } from '../../dsl/internal'
import { memoizePerObject } from '../memoize'
import { boundaryTensors } from './boundary-tensors'
import { axisIndex, extentsOfTensor, reduces, type Graph, type Shard } from './graph'
import { effectiveTileCount, partition, unionInterval, type Interval } from './interval'
import { findShard, type SegmentShard, type ShardAxis } from './shard'
import type { Grid, Span } from './span'
import type { ImageCounts } from '../program/program-buffer'
import { tileRunsOfParts, type TileRun } from './tile-runs'
import { tileRuns } from './tiling'

/** Rows of some images of a tensor. */
export interface ImageRows {
  readonly images: Interval
  readonly rows: Interval
}

/** What of a tensor a rank makes, and what lies in its memory. */
export interface RankPart {
  readonly owned: ImageRows
  /** What it owns, and what its tiles of all readers read. */
  readonly held: ImageRows
}

/** How a tensor that leaves a segment is shared by the ranks. */
export interface SharedTensor {
  readonly ranks: number
  readonly partOf: (rank: number) => RankPart
  /** Whether each rank has a part of every element of a sum over its rows. */
  readonly isSummed: boolean
  /** Whether what runs on all ranks alike reads all of it. */
  readonly isGathered: boolean
  /** The segments that read it of which each rank runs its part. */
  readonly readInParts: readonly Span[]
}

const hull = (runs: readonly TileRun[], of: (run: TileRun) => Interval, tensor: number): Interval =>
  runs
    .flatMap((run) => {
      const [first, moved] = [of(run), (run.count - 1) * run.advances.get(tensor)!]
      return [first, { from: first.from + moved, to: first.to + moved }]
    })
    .reduce(unionInterval)

const union = (a: ImageRows, b: ImageRows): ImageRows => ({
  images: unionInterval(a.images, b.images),
  rows: unionInterval(a.rows, b.rows)
})

/** All images and rows of a tensor. */
const allOf = (graph: Graph, tensor: number): ImageRows => {
  const [images, , rows] = extentsOfTensor(graph, tensor)
  return { images: { from: 0, to: images }, rows: { from: 0, to: rows } }
}

/** A span with its grid, and what a plan says of how ranks share it, as segments have them. */
type TiledSpan = Span & { readonly grid: Grid; readonly shards?: PlanShards }

const textOf = ({ from, to, grid: { B, H }, shards }: TiledSpan): string => [from, to, B, H, shards?.B, shards?.H].join()

/** The interval of a part along an axis. */
type IntervalOf = (part: number) => Interval

/** By tensor, the parts along an axis that tiles of a segment make or sum, and what they read. */
interface AxisParts {
  readonly owned: ReadonlyMap<number, IntervalOf>
  readonly held: ReadonlyMap<number, IntervalOf>
}

/** The intervals of all parts, without an object for each: there may be a thousand. */
const intervalsOf = (runs: readonly TileRun[], of: 'owned' | 'held', tensor: number, tiles: number, count: number): IntervalOf => {
  const [starts, ends] = [new Int32Array(count).fill(2 ** 31 - 1), new Int32Array(count)]
  let tile = 0
  for (const run of runs) {
    const [{ from, to }, advance] = [run[of].get(tensor)!, run.advances.get(tensor)!]
    for (let index = 0; index < run.count; index += 1, tile += 1) {
      const part = Math.floor(tile / tiles)
      starts[part] = Math.min(starts[part]!, from + index * advance)
      ends[part] = Math.max(ends[part]!, to + index * advance)
    }
  }
  return (part) => ({ from: starts[part]!, to: ends[part]! })
}

const findAxisParts = (graph: Graph, segment: TiledSpan, axis: ShardAxis, count: number): AxisParts => {
  const tiles = segment.grid[axis]
  const runs = tileRunsOfParts(graph, segment, axis, tiles, count)!
  const byTensor = (of: 'owned' | 'held', tensors: Iterable<number>): ReadonlyMap<number, IntervalOf> =>
    new Map([...tensors].map((tensor) => [tensor, intervalsOf(runs, of, tensor, tiles, count)]))
  return { owned: byTensor('owned', runs[0]!.owned.keys()), held: byTensor('held', boundaryTensors(graph, segment).inputs) }
}

/** The parts along an axis; remembered. */
const axisParts = memoizePerObject(
  (_: Graph, { from, to, grid }: TiledSpan, axis: ShardAxis, count: number) => [from, to, grid[axis], axis, count].join(),
  findAxisParts
)

/** Images and rows of a rank. */
type RowsOfRank = (rank: number) => ImageRows

/** The intervals of a rank's parts along both axes. */
const ofRank = ({ parts: { B, H } }: SegmentShard, along: (axis: ShardAxis, count: number) => IntervalOf): RowsOfRank => {
  const [images, rows] = [along('B', B.count), along('H', H.count)]
  return (rank) => ({ images: images(Math.floor(rank / H.count)), rows: rows(rank % H.count) })
}

/** What a rank's tiles of a segment own of what an op makes, or sums along an axis. */
const rowsOwned = (graph: Graph, segment: TiledSpan, shard: SegmentShard, position: number): RowsOfRank => {
  const node = graph.nodes[position]!
  return ofRank(shard, (axis, count) => {
    const tensor = reduces(node, axis) ? node.inputs[0]! : position + 1
    const all = { from: 0, to: extentsOfTensor(graph, tensor)[axisIndex[axis]] }
    return axisParts(graph, segment, axis, count).owned.get(tensor) ?? (() => all)
  })
}

const ranksOf = ({ parts: { B, H } }: SegmentShard): number => B.count * H.count

/** What this rank owns of what an op of a segment makes, or sums. */
export const ownedPart = (graph: Graph, segment: TiledSpan, shard: SegmentShard, position: number): ImageRows =>
  rowsOwned(graph, segment, shard, position)(shard.index)

/** What a rank owns and what its tiles of readers hold: all of it where there are none. */
const withHeld = (graph: Graph, tensor: number, owned: RowsOfRank, readers: readonly TiledSpan[] | undefined): SharedTensor['partOf'] => {
  const all = allOf(graph, tensor)
  const read = readers?.map((reader) =>
    ofRank(findShard(graph, reader)!, (axis, count) => axisParts(graph, reader, axis, count).held.get(tensor)!)
  )
  return (rank) => {
    const own = owned(rank)
    return { owned: own, held: read?.map((of) => of(rank)).reduce(union, own) ?? all }
  }
}

/** The segments that read a tensor of an earlier one, or of the network's input. */
const findReaders = (graph: Graph, segments: readonly TiledSpan[], tensor: number): readonly TiledSpan[] =>
  segments.filter((segment) => segment.from >= tensor && boundaryTensors(graph, segment).inputs.includes(tensor))

/** The segments that read a tensor of which each rank runs its part. */
export const readersInParts = (graph: Graph, segments: readonly TiledSpan[], tensor: number): readonly Span[] =>
  graph.shard === undefined ? [] : findReaders(graph, segments, tensor).filter((reader) => findShard(graph, reader) !== undefined)

/** The images of the network's input that this rank's tiles read. */
export const imagesRead = (graph: Graph, segments: readonly TiledSpan[]): Interval =>
  findReaders(graph, segments, 0)
    .map((segment) => hull(tileRuns(graph, segment, 'B', segment.grid.B)!, (run) => run.held.get(0)!, 0))
    .reduce(unionInterval)

/**
 * What of a tensor that all ranks have one counts as its own where each row must be one rank's:
 * rows of all images.
 */
export const countedPart = ({ images, rows }: ImageCounts, { count, index }: Shard): ImageRows => ({
  images: { from: 0, to: images },
  rows: { from: Math.floor((rows * index) / count), to: Math.floor((rows * (index + 1)) / count) }
})

const shareOutput = (graph: Graph, tensor: number, producer: TiledSpan, readers: readonly TiledSpan[]): SharedTensor | undefined => {
  const shard = findShard(graph, producer)
  if (shard === undefined) return undefined
  const readInParts = readers.filter((reader) => findShard(graph, reader) !== undefined)
  const isSummed = reduces(graph.nodes[tensor - 1]!, 'H')
  const isGathered = isSummed || readInParts.length < readers.length
  const partOf = withHeld(graph, tensor, rowsOwned(graph, producer, shard, tensor - 1), isGathered ? undefined : readInParts)
  return { ranks: ranksOf(shard), partOf, isSummed, isGathered, readInParts }
}

/** Remembered: many plans have the same segments around a tensor. */
const knownOutput = memoizePerObject(
  (_: Graph, tensor: number, ...[producer, readers]: readonly [TiledSpan, readonly TiledSpan[]]) =>
    [tensor, ...[producer, ...readers].map(textOf)].join(),
  shareOutput
)

/**
 * How the ranks share a tensor that leaves one of these segments; undefined where every rank makes
 * all of it.
 */
export const sharedTensor = (graph: Graph, segments: readonly TiledSpan[], tensor: number): SharedTensor | undefined => {
  const producer = segments.find(({ from, to }) => from < tensor && tensor <= to)
  return producer && knownOutput(graph, tensor, producer, findReaders(graph, segments, tensor))
}

/**
 * How the ranks share a tensor that a segment reads, where nothing is known of the segment that
 * makes it: as if that had rows for all ranks. Undefined where the segment runs on all alike.
 */
export const assumedSharing = (graph: Graph, segment: TiledSpan, tensor: number): SharedTensor | undefined => {
  const shard = findShard(graph, segment)
  if (shard === undefined) return undefined
  const { images, rows } = allOf(graph, tensor)
  const { B, H } = shard.parts
  if (effectiveTileCount(images.to, B.count) < B.count || effectiveTileCount(rows.to, H.count) < H.count) return undefined
  const owned = ofRank(shard, (axis, count) => partition((axis === 'B' ? images : rows).to, count).part)
  const partOf = withHeld(graph, tensor, owned, [segment])
  return { ranks: ranksOf(shard), partOf, isSummed: false, isGathered: false, readInParts: [segment] }
}
