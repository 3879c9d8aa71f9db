import { memoizePerObject } from '../memoize'
import { boundaryTensors } from './boundary-tensors'
import { extentsOfTensor, reduces, type Graph, type Shard } from './graph'
import { allParts, effectiveTileCount, partition, unionInterval, type Interval } from './interval'
import { findShard } from './shard'
import type { Grid, Span } from './span'
import { tileRuns, type TileRun } from './tiling'

/** The rows of a tensor that a rank makes, and those that lie in its memory. */
export interface RankRows {
  readonly owned: Interval
  /** What it owns, and what its tiles of all readers read. */
  readonly held: Interval
}

/** How a tensor that leaves a segment is shared by the ranks. */
export interface SharedTensor {
  /** By rank. */
  readonly rows: readonly RankRows[]
  /** Whether each rank has a part of every element of a sum over its rows. */
  readonly isSummed: boolean
  /** Whether what runs on all ranks alike reads all of it. */
  readonly isGathered: boolean
  /** The segments that read it of which each rank runs its rows. */
  readonly readInRows: readonly Span[]
}

const hull = (runs: readonly TileRun[], of: (run: TileRun) => Interval, tensor: number): Interval =>
  runs
    .flatMap((run) => {
      const [first, moved] = [of(run), (run.count - 1) * run.advances.get(tensor)!]
      return [first, { from: first.from + moved, to: first.to + moved }]
    })
    .reduce(unionInterval)

/** The rows that a rank owns of a tensor that its tiles of a segment make, or sum. */
export const ownedRows = (graph: Graph, segment: TiledSpan, tensor: number, shard: Shard): Interval =>
  hull(tileRuns(graph, segment, 'H', segment.grid.H, shard)!, (run) => run.owned.get(tensor)!, tensor)

/** A span with its grid, as segments have it. */
type TiledSpan = Span & { readonly grid: Grid }

/** By tensor and rank, the rows that its tiles of a segment make or sum, and that they read. */
interface RowsOfRanks {
  readonly owned: ReadonlyMap<number, readonly Interval[]>
  readonly held: ReadonlyMap<number, readonly Interval[]>
}

const findRows = (graph: Graph, segment: TiledSpan, count: number): RowsOfRanks => {
  const rows: { readonly owned: Map<number, Interval[]>; readonly held: Map<number, Interval[]> } = { owned: new Map(), held: new Map() }
  const { inputs } = boundaryTensors(graph, segment)
  for (let index = 0; index < count; index += 1) {
    const runs = tileRuns(graph, segment, 'H', segment.grid.H, { count, index })!
    const add = (of: 'owned' | 'held', tensor: number): void => {
      const known = rows[of].get(tensor) ?? []
      known.push(hull(runs, (run) => run[of].get(tensor)!, tensor))
      rows[of].set(tensor, known)
    }
    for (const tensor of runs[0]!.owned.keys()) add('owned', tensor)
    for (const tensor of inputs) add('held', tensor)
  }
  return rows
}

/** The rows of each rank; remembered. */
const rowsOfRanks = memoizePerObject((_: Graph, { from, to, grid }: TiledSpan, count: number) => [from, to, grid.H, count].join(), findRows)

/** By rank, what it owns and what its tiles of readers hold: all of it where there are none. */
const rowsHeld = (
  graph: Graph,
  tensor: number,
  owned: readonly Interval[],
  readers: readonly TiledSpan[] | undefined
): readonly RankRows[] => {
  const all: Interval = { from: 0, to: extentsOfTensor(graph, tensor)[2] }
  const read = (readers ?? []).map((reader) => rowsOfRanks(graph, reader, owned.length).held.get(tensor)!)
  const heldBy = (rank: number): Interval =>
    readers === undefined ? all : read.map((ranks) => ranks[rank]!).reduce(unionInterval, owned[rank]!)
  return owned.map((rows, rank) => ({ owned: rows, held: heldBy(rank) }))
}

/** The segments that read a tensor of an earlier one, or of the network's input. */
const findReaders = (graph: Graph, segments: readonly TiledSpan[], tensor: number): readonly TiledSpan[] =>
  segments.filter((segment) => segment.from >= tensor && boundaryTensors(graph, segment).inputs.includes(tensor))

/** The segments that read a tensor of which each rank runs its rows. */
export const readersInRows = (graph: Graph, segments: readonly TiledSpan[], tensor: number): readonly Span[] =>
  graph.shard === undefined ? [] : findReaders(graph, segments, tensor).filter((reader) => findShard(graph, reader) !== undefined)

/**
 * The rows of a tensor that all ranks have that one counts as its own where each must be one
 * rank's.
 */
export const countedRows = (rows: number, { count, index }: Shard): Interval => ({
  from: Math.floor((rows * index) / count),
  to: Math.floor((rows * (index + 1)) / count)
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
  const made = rowsOfRanks(graph, producer, shard.count).owned
  if (reduces(node, 'H')) {
    const owned = made.get(node.inputs[0]!)!
    return { rows: owned.map((rows) => ({ owned: rows, held: { from: 0, to: 1 } })), isSummed: true, isGathered: true, readInRows: [] }
  }
  const owned = made.get(tensor)!
  const readers = findReaders(graph, segments, tensor)
  const inRows = readers.filter((reader) => findShard(graph, reader) !== undefined)
  const isGathered = inRows.length < readers.length
  return { rows: rowsHeld(graph, tensor, owned, isGathered ? undefined : inRows), isSummed: false, isGathered, readInRows: inRows }
}

/**
 * How the ranks share a tensor that a segment reads, where nothing is known of the segment that
 * makes it: as if that had rows for all ranks. Undefined where the segment runs on all alike.
 */
export const assumedSharing = (graph: Graph, segment: TiledSpan, tensor: number): SharedTensor | undefined => {
  const shard = findShard(graph, segment)
  const rows = extentsOfTensor(graph, tensor)[2]
  if (shard === undefined || effectiveTileCount(rows, shard.count) < shard.count) return undefined
  const owned = allParts(partition(rows, shard.count))
  return { rows: rowsHeld(graph, tensor, owned, [segment]), isSummed: false, isGathered: false, readInRows: [segment] }
}
