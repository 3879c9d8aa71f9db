import { memoizePerObject } from '../memoize'
import { boundaryTensors } from './boundary-tensors'
import { axisIndex, extentsOfTensor, reduces, type Graph, type Shard } from './graph'
import { allParts, effectiveTileCount, partition, unionInterval, type Interval } from './interval'
import { findShard, type SegmentShard, type ShardAxis } from './shard'
import type { Grid, Span } from './span'
import type { ImageCounts } from '../program/program-buffer'
import { tileRuns, tileRunsOfParts, type TileRun } from './tiling'

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
  /** By rank. */
  readonly parts: readonly RankPart[]
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

/** A span with its grid, as segments have it. */
type TiledSpan = Span & { readonly grid: Grid }

/** By tensor and part along an axis, what tiles of a segment make or sum, and what they read. */
interface AxisParts {
  readonly owned: ReadonlyMap<number, readonly Interval[]>
  readonly held: ReadonlyMap<number, readonly Interval[]>
}

const findAxisParts = (graph: Graph, segment: TiledSpan, axis: ShardAxis, count: number): AxisParts => {
  const tiles = segment.grid[axis]
  const runs = tileRunsOfParts(graph, segment, axis, tiles, count)!
  const ofParts = (of: 'owned' | 'held', tensor: number): readonly Interval[] => {
    const parts: Interval[] = []
    let tile = 0
    for (const run of runs) {
      const [{ from, to }, advance] = [run[of].get(tensor)!, run.advances.get(tensor)!]
      for (let index = 0; index < run.count; index += 1, tile += 1) {
        const moved = { from: from + index * advance, to: to + index * advance }
        const part = Math.floor(tile / tiles)
        parts[part] = part < parts.length ? unionInterval(parts[part]!, moved) : moved
      }
    }
    return parts
  }
  const byTensor = (of: 'owned' | 'held', tensors: Iterable<number>): ReadonlyMap<number, readonly Interval[]> =>
    new Map([...tensors].map((tensor) => [tensor, ofParts(of, tensor)]))
  return { owned: byTensor('owned', runs[0]!.owned.keys()), held: byTensor('held', boundaryTensors(graph, segment).inputs) }
}

/** The parts along an axis; remembered. */
const axisParts = memoizePerObject(
  (_: Graph, { from, to, grid }: TiledSpan, axis: ShardAxis, count: number) => [from, to, grid[axis], axis, count].join(),
  findAxisParts
)

/** By rank, what its tiles of a segment own of what an op makes, or sums along an axis. */
const partsOwned = (graph: Graph, segment: TiledSpan, shard: SegmentShard, position: number): readonly ImageRows[] => {
  const node = graph.nodes[position]!
  return ofRanks(shard, (axis, count) => {
    const tensor = reduces(node, axis) ? node.inputs[0]! : position + 1
    return axisParts(graph, segment, axis, count).owned.get(tensor) ?? [{ from: 0, to: extentsOfTensor(graph, tensor)[axisIndex[axis]] }]
  })
}

/** By rank, the intervals of its parts along both axes. */
const ofRanks = (shard: SegmentShard, along: (axis: ShardAxis, count: number) => readonly Interval[]): readonly ImageRows[] => {
  const [images, rows] = [along('B', shard.parts.B.count), along('H', shard.parts.H.count)]
  return images.flatMap((some) => rows.map((one): ImageRows => ({ images: some, rows: one })))
}

/** What this rank owns of what an op of a segment makes, or sums. */
export const ownedPart = (graph: Graph, segment: TiledSpan, shard: SegmentShard, position: number): ImageRows =>
  partsOwned(graph, segment, shard, position)[shard.index]!

/** By rank, what it owns and what its tiles of readers hold: all of it where there are none. */
const partsHeld = (
  graph: Graph,
  tensor: number,
  owned: readonly ImageRows[],
  readers: readonly TiledSpan[] | undefined
): readonly RankPart[] => {
  const all = allOf(graph, tensor)
  const read = (readers ?? []).map((reader) =>
    ofRanks(findShard(graph, reader)!, (axis, count) => axisParts(graph, reader, axis, count).held.get(tensor)!)
  )
  const heldBy = (rank: number): ImageRows => (readers === undefined ? all : read.map((ranks) => ranks[rank]!).reduce(union, owned[rank]!))
  return owned.map((part, rank) => ({ owned: part, held: heldBy(rank) }))
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

/**
 * How the ranks share a tensor that leaves one of these segments; undefined where every rank makes
 * all of it.
 */
export const sharedTensor = (graph: Graph, segments: readonly TiledSpan[], tensor: number): SharedTensor | undefined => {
  const producer = segments.find(({ from, to }) => from < tensor && tensor <= to)
  const shard = producer && findShard(graph, producer)
  if (producer === undefined || shard === undefined) return undefined
  const node = graph.nodes[tensor - 1]!
  const owned = partsOwned(graph, producer, shard, tensor - 1)
  const readers = findReaders(graph, segments, tensor)
  const readInParts = readers.filter((reader) => findShard(graph, reader) !== undefined)
  if (reduces(node, 'H')) {
    return { parts: owned.map((part) => ({ owned: part, held: allOf(graph, tensor) })), isSummed: true, isGathered: true, readInParts }
  }
  const isGathered = readInParts.length < readers.length
  return { parts: partsHeld(graph, tensor, owned, isGathered ? undefined : readInParts), isSummed: false, isGathered, readInParts }
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
  const [ofImages, ofRows] = [allParts(partition(images.to, B.count)), allParts(partition(rows.to, H.count))]
  const owned = ofImages.flatMap((some) => ofRows.map((one): ImageRows => ({ images: some, rows: one })))
  return { parts: partsHeld(graph, tensor, owned, [segment]), isSummed: false, isGathered: false, readInParts: [segment] }
}
