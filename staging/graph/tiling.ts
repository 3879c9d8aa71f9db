import type { Grid, Span } from './span'
import type { AxisAccess } from './access'
import { extentsOfTensor, type Graph, type Node } from './graph'
import { barriers, gathersMoments } from './statistics'
import { tileAxes, type TileAxis } from '../program/program'
import { inputInterval, readInterval, unpadded, withLeftover, type Reading } from './region'
import { unionInterval, partition, partitionAlongside, effectiveTileCount, type Interval } from './interval'

const axisIndex = { B: 0, H: 2, W: 3 } as const

/**
 * The tensors that a span reads from before it, and those that it makes and something after it
 * reads.
 */
export interface BoundaryTensors {
  readonly inputs: readonly number[]
  readonly outputs: readonly number[]
}

const knownBoundaries = new WeakMap<Graph, Map<number, BoundaryTensors>>()

/** The tensors at a span's ends; remembered. */
export const boundaryTensors = (graph: Graph, { from, to }: Span): BoundaryTensors => {
  const known = knownBoundaries.get(graph) ?? new Map<number, BoundaryTensors>()
  knownBoundaries.set(graph, known)
  const place = from * (graph.nodes.length + 1) + to
  const found = known.get(place) ?? findBoundaries(graph, { from, to })
  known.set(place, found)
  return found
}

const findBoundaries = (graph: Graph, { from, to }: Span): BoundaryTensors => {
  const read = new Set(graph.nodes.slice(from, to).flatMap(({ inputs }) => inputs.filter((tensor) => tensor <= from)))
  const outputs = Array.from({ length: to - from }, (_, index) => from + 1 + index)
  return {
    inputs: [...read].sort((a, b) => a - b),
    outputs: outputs.filter((tensor) => isLiveAfter(graph, tensor, to))
  }
}

/** Tells whether something from a position on reads a tensor. */
export const isLiveAfter = ({ readers }: Graph, tensor: number, position: number): boolean =>
  readers[tensor]!.some((reader) => reader >= position)

/**
 * The tensors, the network's input left out, that are made before a position and read from there
 * on: of every position at once.
 */
const allCrossing = ({ nodes, readers }: Graph): readonly (readonly number[])[] => {
  let alive: readonly number[] = []
  return [...nodes.keys(), nodes.length].map((position) => {
    const before = position === 0 ? alive : [...alive, position]
    alive = before.filter((tensor) => readers[tensor]!.at(-1)! >= position)
    return alive
  })
}

const knownCrossing = new WeakMap<Graph, readonly (readonly number[])[]>()

/**
 * The tensors, the input left out, that are made before a position and read from there on;
 * remembered.
 */
export const liveTensors = (graph: Graph, position: number): readonly number[] => {
  const known = knownCrossing.get(graph) ?? allCrossing(graph)
  knownCrossing.set(graph, known)
  return known[position]!
}

const reduces = (node: Node, axis: TileAxis): boolean => node.access[axis].kind === 'reduce'

/**
 * Extent of the dimension that a segment's tiles partition: of its last op's output, or, where that
 * sums the dimension away, of that op's input (the tiles' sums are added).
 */
export const ownedExtent = (last: Node, axis: TileAxis): number => (reduces(last, axis) ? last.input : last.output)[axisIndex[axis]]

/**
 * The tiles that become of a grid: at most as many as there are rows, and all but the last equal.
 */
export const effectiveGrid = ({ nodes }: Graph, { to }: Span, grid: Grid): Grid => {
  const made = (axis: TileAxis): number => effectiveTileCount(ownedExtent(nodes[to - 1]!, axis), grid[axis])
  return { B: made('B'), H: made('H'), W: made('W') }
}

const units = { B: 'images', H: 'rows', W: 'columns' } as const

/**
 * Returns one sentence on why a segment cannot have so many tiles, or undefined where all is right.
 */
export const validateGrid = ({ nodes }: Graph, { to }: Span, grid: Grid): string | undefined => {
  const last = nodes[to - 1]!
  const axis = tileAxes.find((one) => grid[one] > ownedExtent(last, one))
  if (axis === undefined) return undefined
  const [tensor, extent] = [reduces(last, axis) ? 'input' : 'output', ownedExtent(last, axis)]
  return `${grid[axis]} tiles along ${axis} are more than the ${extent} ${units[axis]} of the ${tensor} of ${last.name}; take at most ${extent}`
}

/** Tells whether an output's slice reads a slice of the input. */
const isSliced = (access: AxisAccess): boolean => access.kind !== 'whole' && !(access.kind === 'transposedWindow' && access.apart)

/**
 * Dimensions along which a segment can be fused-tiled (Xu 2022, Listing 3, FTdimsIntersect): those
 * that every op maps to a slice of its input, or sums away where nothing inside the segment reads
 * the sum; and along which no moments are taken inside.
 */
export const fusibleTileAxes = (graph: Graph, span: Span): readonly TileAxis[] => {
  const barred = barriers(graph, span)
  return tileAxes.filter(
    (axis) =>
      !barred.includes(axis) &&
      graph.nodes
        .slice(span.from, span.to)
        .every(({ access }, index) =>
          access[axis].kind === 'reduce'
            ? graph.readers[span.from + index + 1]!.every((reader) => reader >= span.to)
            : isSliced(access[axis])
        )
  )
}

/**
 * One tile along one dimension: what each op of the segment reads, and what of each tensor is held
 * (Xu 2022, Listing 4).
 */
interface AxisTile {
  readonly readings: readonly Reading[]
  readonly held: ReadonlyMap<number, Interval>
  readonly owned: ReadonlyMap<number, Interval>
}

/**
 * Consecutive tiles of equal shape whose positions advance by constant amounts: one loop of a
 * Program.
 */
export interface TileRun {
  readonly count: number
  /** What each op of the segment reads of its inputs in the first tile, in order. */
  readonly readings: readonly Reading[]
  /** By tensor, the hull of what the first tile reads of it and owns of it. */
  readonly held: ReadonlyMap<number, Interval>
  /** The first tile's part of each tensor that leaves the segment, and of each that is summed. */
  readonly owned: ReadonlyMap<number, Interval>
  /** How far the tile's part of each tensor moves from one tile to the next. */
  readonly advances: ReadonlyMap<number, number>
}

/** What is partitioned along an axis: each tensor's parts, one a tile. */
const ownedParts = (graph: Graph, span: Span, axis: TileAxis, tiles: number): ReadonlyMap<number, readonly Interval[]> => {
  const last = graph.nodes[span.to - 1]!
  const parts = partition(ownedExtent(last, axis), tiles)
  const summed = graph.nodes.slice(span.from, span.to).flatMap((node) => (reduces(node, axis) ? node.inputs : []))
  const leaving = boundaryTensors(graph, span).outputs.filter((tensor) => !reduces(graph.nodes[tensor - 1]!, axis))
  // Moments are those of all elements, and so are the gradients that depend on them, whatever else
  // reads them.
  const normalised = graph.nodes.slice(span.from, span.to).flatMap((node, index) => {
    const isMadeHere = node.inputs[0]! > span.from || node.inputs[0] === 0
    return gathersMoments(node) && (isMadeHere || parts.length === 1) ? [...node.inputs, span.from + index + 1] : []
  })
  return new Map(
    [...summed, ...leaving, ...normalised].map((tensor) => [
      tensor,
      partitionAlongside(extentsOfTensor(graph, tensor)[axisIndex[axis]], parts)
    ])
  )
}

const single: Interval = { from: 0, to: 1 }

const axisTile = (graph: Graph, span: Span, axis: TileAxis, parts: ReadonlyMap<number, Interval>): AxisTile => {
  const [held, owned] = [new Map(parts), new Map(parts)]
  const readings: Reading[] = []
  for (let position = span.to - 1; position >= span.from; position--) {
    const node = graph.nodes[position]!
    if (reduces(node, axis)) {
      held.set(position + 1, single)
      owned.set(position + 1, single)
    } else if (!held.has(position + 1)) held.set(position + 1, { from: 0, to: node.output[axisIndex[axis]] })
    const reading = reduces(node, axis)
      ? unpadded(parts.get(node.inputs[0]!)!)
      : inputInterval(node.access[axis], held.get(position + 1)!, node.input[axisIndex[axis]])
    const whole = node.broadcast && axis !== 'B' ? { ...reading, broadcast: node.inputs[1]! } : reading
    readings.unshift(whole)
    for (const tensor of node.inputs) {
      const [before, read] = [held.get(tensor), readInterval(whole, tensor)]
      held.set(tensor, before === undefined ? read : unionInterval(before, read))
    }
  }
  const all = readings.map((reading, index) => {
    const { access, inputs } = graph.nodes[span.from + index]!
    return withLeftover(access[axis], reading, held.get(inputs[0]!)!)
  })
  return { readings: all, held, owned }
}

const size = ({ from, to }: Interval): number => to - from

const isEmpty = ({ from, to }: Interval): boolean => to <= from

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

/** Whether all parts but the last are as large as the first, one after the other. */
const isEven = (parts: readonly Interval[]): boolean =>
  parts.slice(0, -1).every((part, index) => part.from === index * size(parts[0]!) && size(part) === size(parts[0]!))

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

/**
 * The tiles of a segment along one dimension, grouped into runs; undefined when some tile would see
 * nothing but padding (then fewer tiles are needed). `tiles` is an upper bound (see
 * `effectiveTileCount`).
 */
export const tileRuns = (graph: Graph, span: Span, axis: TileAxis, tiles: number): readonly TileRun[] | undefined => {
  const parts = ownedParts(graph, span, axis, tiles)
  const nodes = graph.nodes.slice(span.from, span.to)
  const made = partition(ownedExtent(graph.nodes[span.to - 1]!, axis), tiles).length
  const tileAt = (index: number): AxisTile =>
    axisTile(graph, span, axis, new Map([...parts].map(([tensor, list]) => [tensor, list[index]!])))
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
  for (let index = 0; index < made; index++) {
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
    if (!joins || run.count > 1 || !(areEven ??= [...parts.values()].every(isEven))) continue
    const last = lastAlike(index, tile, key)
    if (last === undefined) continue
    runs[runs.length - 1] = { ...runs[runs.length - 1]!, count: run.count + 1 + last.index - index }
    previous = { tile: last.tile, key }
    index = last.index
  }
  return runs
}

/** Runs along the three dimensions, or undefined when the grid is too fine (see `tileRuns`). */
export type SegmentTiling = { readonly [A in TileAxis]: readonly TileRun[] }

export const segmentTiling = (graph: Graph, span: Span, grid: Grid): SegmentTiling | undefined => {
  const [B, H, W] = tileAxes.map((axis) => tileRuns(graph, span, axis, grid[axis]))
  return B && H && W ? { B, H, W } : undefined
}

/**
 * The last layer of the span, if any, that would see nothing but padding even untiled: there is
 * nothing to compute.
 */
export const nodeWithoutInput = (graph: Graph, span: Span): Node | undefined => {
  const positions = tileAxes.map((axis) => {
    const parts = ownedParts(graph, span, axis, 1)
    const tile = axisTile(graph, span, axis, new Map([...parts].map(([tensor, [only]]) => [tensor, only!])))
    return tile.readings.findLastIndex(({ interval }) => isEmpty(interval))
  })
  return graph.nodes.slice(span.from, span.to)[Math.max(...positions)]
}

const product = (extents: readonly number[]): number => extents.reduce((all, extent) => all * extent, 1)

/** Forward multiply-adds of a segment when tiled: halos are computed once a tile. */
export const segmentMultiplyAdds = (graph: Graph, span: Span, tiling: SegmentTiling): number => {
  const heldExtent = (axis: TileAxis, tensor: number): number =>
    tiling[axis].reduce((sum, run) => sum + run.count * size(run.held.get(tensor)!), 0)
  return graph.nodes
    .slice(span.from, span.to)
    .reduce(
      (sum, node, position) =>
        sum + node.multiplyAdds * node.output[1] * product(tileAxes.map((axis) => heldExtent(axis, span.from + position + 1))),
      0
    )
}
