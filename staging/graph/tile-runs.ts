import type { TileAxis } from '../program/program'
import { memoizePerObject } from '../memoize'
import { axisTile, ownedParts, partsOfTile, type AxisTile } from './axis-tile'
import { axisIndex, type Graph, type Node } from './graph'
import { ownedExtent } from './grid'
import { effectiveTileCount, isEmpty, type Interval, size } from './interval'
import { readInterval, type ReadInterval } from './axis-access'
import type { Span } from './span'

/** One of equal parts along an axis. */
export interface AxisPart {
  readonly count: number
  readonly index: number
}

/**
 * Consecutive tiles of equal shape whose positions advance by constant amounts: one loop of a
 * Program.
 */
export interface TileRun {
  readonly count: number
  /** What each op of the segment reads of its inputs in the first tile, in order. */
  readonly readings: readonly ReadInterval[]
  /** By tensor, the hull of what the first tile reads of it and owns of it. */
  readonly held: ReadonlyMap<number, Interval>
  /** The first tile's part of each tensor that leaves the segment, and of each that is summed. */
  readonly owned: ReadonlyMap<number, Interval>
  /** How far the tile's part of each tensor moves from one tile to the next. */
  readonly advances: ReadonlyMap<number, number>
}

const shapeKey = (graph: Graph, { from }: Span, { readings, held, owned }: AxisTile): string => {
  const parts: number[] = []
  readings.forEach((reading, index) => {
    const { interval, padBefore, padAfter, overhang } = reading
    parts.push(size(interval), padBefore, padAfter, overhang)
    for (const tensor of graph.nodes[from + index]!.inputs) parts.push(readInterval(reading, tensor).from - held.get(tensor)!.from)
  })
  held.forEach((interval) => parts.push(size(interval)))
  owned.forEach((interval, tensor) => parts.push(size(interval), interval.from - held.get(tensor)!.from))
  return parts.join()
}

const advancesBetween = (before: AxisTile, after: AxisTile): ReadonlyMap<number, number> =>
  new Map([...before.held].map(([tensor, { from }]) => [tensor, after.held.get(tensor)!.from - from]))

/** Whether what a tile reads is cut short nowhere at its beginning, or at its end. */
const isClear = (nodes: readonly Node[], axis: TileAxis, { readings }: AxisTile, end: 'before' | 'after'): boolean =>
  nodes.every(({ access, input }, index) => {
    const { interval, padBefore, padAfter } = readings[index]!
    if (access[axis].kind === 'window') return (end === 'before' ? padBefore : padAfter) === 0
    if (access[axis].kind !== 'transposedWindow') return true
    return end === 'before' ? interval.from > 0 : interval.to < input[axisIndex[axis]]
  })

/**
 * Whether tiles that are cut short nowhere lie alike where they advance by so much: what an op
 * reads is then where its output is, multiplied and shifted.
 */
const advancesEvenly = (nodes: readonly Node[], axis: TileAxis, advanceOf: (index: number) => number): boolean =>
  nodes.every(({ access }, index) => {
    const { [axis]: one } = access
    if (one.kind === 'transposedWindow') return advanceOf(index) % one.stride === 0
    return one.kind === 'same' || one.kind === 'window' || one.kind === 'whole' || one.kind === 'reduce'
  })

const findTileRuns = (
  graph: Graph,
  span: Span,
  axis: TileAxis,
  tiles: number,
  { count, index: rank }: AxisPart
): readonly TileRun[] | undefined => {
  const parts = ownedParts(graph, span, axis, tiles * count)
  const nodes = graph.nodes.slice(span.from, span.to)
  const inAll = effectiveTileCount(ownedExtent(graph.nodes[span.to - 1]!, axis), tiles * count)
  if (inAll <= (count - 1) * tiles) return undefined
  const made = Math.min(inAll, (rank + 1) * tiles)
  const tileAt = (index: number): AxisTile => axisTile(graph, span, axis, partsOfTile(parts, index))
  const runs: TileRun[] = []
  /**
   * The last of the tiles that join a run like its first two: where nothing is cut short, and what
   * is held begins at the lesser, and ends at the larger, of amounts that grow evenly, those
   * between two that are alike are like them.
   */
  const lastAlike = (index: number, tile: AxisTile, key: string): { readonly index: number; readonly tile: AxisTile } | undefined => {
    const { advances } = runs[runs.length - 1]!
    if (made - index < 4 || !isClear(nodes, axis, tile, 'before')) return undefined
    if (!advancesEvenly(nodes, axis, (place) => advances.get(span.from + place + 1)!)) return undefined
    for (let last = made - 2; last > index + 1; last--) {
      const other = tileAt(last)
      if (!isClear(nodes, axis, other, 'after')) continue
      const isAlike =
        shapeKey(graph, span, other) === key &&
        [...advancesBetween(tile, other)].every(([tensor, advance]) => advance === (last - index) * advances.get(tensor)!)
      return isAlike ? { index: last, tile: other } : undefined
    }
    return undefined
  }
  let previous: { readonly tile: AxisTile; readonly key: string } | undefined
  let areEven: boolean | undefined
  for (let index = rank * tiles; index < made; index++) {
    const tile = tileAt(index)
    if ([...tile.held.values(), ...tile.owned.values()].some(isEmpty) || tile.readings.some(({ interval }) => isEmpty(interval)))
      return undefined
    const key = shapeKey(graph, span, tile)
    const run = runs[runs.length - 1]
    const advances = previous === undefined ? undefined : advancesBetween(previous.tile, tile)
    const joins =
      run !== undefined &&
      previous?.key === key &&
      (run.count === 1 || [...run.advances].every(([tensor, advance]) => advance === advances!.get(tensor)))
    if (joins) runs[runs.length - 1] = { ...run, count: run.count + 1, advances: advances! }
    else runs.push({ count: 1, ...tile, advances: new Map([...tile.held.keys()].map((tensor) => [tensor, 0])) })
    previous = { tile, key }
    if (!joins || run.count > 1 || !(areEven ??= [...parts.values()].every(({ isEven }) => isEven()))) continue
    const last = lastAlike(index, tile, key)
    if (last === undefined) continue
    runs[runs.length - 1] = { ...runs[runs.length - 1]!, count: run.count + 1 + last.index - index }
    previous = { tile: last.tile, key }
    index = last.index
  }
  return runs
}

/**
 * The tiles of a part of a span along an axis, which has so many of them, grouped into runs;
 * undefined where some would see nothing but padding, or some part would have none; remembered.
 */
export const tileRunsOfPart = memoizePerObject(
  (_: Graph, { from, to }: Span, axis: TileAxis, tiles: number, { count, index }: AxisPart) => [from, to, axis, tiles, count, index].join(),
  findTileRuns
)

/**
 * The tiles of all parts of a segment along one dimension, of each part so many, one part's after
 * those of the one before: as if they were one rank's. Undefined as of `tileRunsOfPart`.
 */
export const tileRunsOfParts = (graph: Graph, span: Span, axis: TileAxis, tiles: number, count: number): readonly TileRun[] | undefined => {
  const runs = tileRunsOfPart(graph, span, axis, tiles * count, { count: 1, index: 0 })
  const made = (runs ?? []).reduce((sum, run) => sum + run.count, 0)
  return made > (count - 1) * tiles ? runs : undefined
}
