import type { Graph, Node } from './graph'
import { isLoss } from './graph'
import { tileAxes, type TileAxis } from './program'
import { inputInterval, partition, unpadded, type Interval, type Reading } from './region'

/** Numbers of tiles along batch, height and width. */
export interface Grid {
  readonly B: number
  readonly H: number
  readonly W: number
}

export const untiled: Grid = { B: 1, H: 1, W: 1 }
export const tileCount = (grid: Grid): number => grid.B * grid.H * grid.W

/** A half-open range of nodes that runs tile by tile. */
export interface Span {
  readonly from: number
  readonly to: number
}

const axisIndex = { B: 0, H: 2, W: 3 } as const

/**
 * Extent of the dimension that a segment's tiles partition: of its output, or, where the last op sums the dimension
 * away, of that op's input (DESIGN §3: the tiles' sums are added).
 */
export const ownedExtent = (last: Node, axis: TileAxis): number =>
  (last.access[axis].kind === 'reduce' ? last.input : last.output)[axisIndex[axis]]

/**
 * Dimensions along which a segment can be fused-tiled (paper 002, Listing 3, FTdimsIntersect): those that every op maps
 * to a slice of its input, where the last op may also sum them away.
 */
export const fusedTiledAxes = (graph: Graph, { from, to }: Span): readonly TileAxis[] =>
  tileAxes.filter((axis) =>
    graph.nodes.slice(from, to).every(({ access }, index) => {
      const { kind } = access[axis]
      return kind === 'same' || kind === 'window' || (kind === 'reduce' && from + index === to - 1)
    })
  )

/** One tile along one dimension: what each op of the segment reads, and what the last one writes (paper 002, Listing 4). */
interface AxisTile {
  readonly readings: readonly Reading[]
  readonly output: Interval
}

/** Consecutive tiles of equal shape whose positions advance by constant amounts: one loop of a Program. */
export interface TileRun {
  readonly count: number
  /** Of the first tile: the reading of each op of the segment, in order. */
  readonly readings: readonly Reading[]
  readonly output: Interval
  /** How far the input of each op (and, last, the segment's output) moves from one tile to the next. */
  readonly advances: readonly number[]
}

const axisTile = (nodes: readonly Node[], axis: TileAxis, owned: Interval): AxisTile => {
  const readings: Reading[] = []
  const summed = nodes[nodes.length - 1]!.access[axis].kind === 'reduce'
  let output = owned
  for (const [position, node] of [...nodes.entries()].reverse()) {
    const reading =
      summed && position === nodes.length - 1 ? unpadded(owned) : inputInterval(node.access[axis], output, node.input[axisIndex[axis]])
    readings.unshift(reading)
    output = reading.interval
  }
  return { readings, output: summed ? { from: 0, to: 1 } : owned }
}

const intervalsOf = (tile: AxisTile): readonly Interval[] => [...tile.readings.map(({ interval }) => interval), tile.output]

const shapeKey = (tile: AxisTile): string =>
  [
    ...tile.readings.map((r) => `${r.interval.to - r.interval.from},${r.padBefore},${r.padAfter},${r.overhang}`),
    tile.output.to - tile.output.from
  ].join(';')

const advancesBetween = (before: AxisTile, after: AxisTile): readonly number[] => {
  const [a, b] = [intervalsOf(before), intervalsOf(after)]
  return a.map((interval, index) => b[index]!.from - interval.from)
}

/**
 * The tiles of a segment along one dimension, grouped into runs; undefined when some tile would see nothing but padding
 * (then fewer tiles are needed). `tiles` is an upper bound (see `tilesMade`).
 */
export const tileRuns = (graph: Graph, span: Span, axis: TileAxis, tiles: number): readonly TileRun[] | undefined => {
  const nodes = graph.nodes.slice(span.from, span.to)
  const all = partition(ownedExtent(nodes[nodes.length - 1]!, axis), tiles).map((owned) => axisTile(nodes, axis, owned))
  if (all.some((tile) => intervalsOf(tile).some(({ from, to }) => to <= from))) return undefined
  const runs: TileRun[] = []
  let previous: { readonly tile: AxisTile; readonly key: string } | undefined
  for (const tile of all) {
    const key = shapeKey(tile)
    const run = runs[runs.length - 1]
    const advances = previous === undefined ? undefined : advancesBetween(previous.tile, tile)
    const joins =
      run !== undefined &&
      previous?.key === key &&
      (run.count === 1 || run.advances.every((advance, index) => advance === advances![index]))
    if (joins) runs[runs.length - 1] = { ...run, count: run.count + 1, advances: advances! }
    else runs.push({ count: 1, readings: tile.readings, output: tile.output, advances: tile.readings.map(() => 0).concat(0) })
    previous = { tile, key }
  }
  return runs
}

/** Runs along the three dimensions, or undefined when the grid is too fine (see `tileRuns`). */
export type SegmentTiling = { readonly [A in TileAxis]: readonly TileRun[] }

export const segmentTiling = (graph: Graph, span: Span, grid: Grid): SegmentTiling | undefined => {
  const [B, H, W] = tileAxes.map((axis) => tileRuns(graph, span, axis, grid[axis]))
  return B && H && W ? { B, H, W } : undefined
}

/** The last layer of the span, if any, that would see nothing but padding even untiled: there is nothing to compute. */
export const nodeWithoutInput = (graph: Graph, span: Span): Node | undefined => {
  const nodes = graph.nodes.slice(span.from, span.to)
  const positions = tileAxes.map((axis) => {
    const whole = { from: 0, to: ownedExtent(nodes[nodes.length - 1]!, axis) }
    return axisTile(nodes, axis, whole).readings.findLastIndex(({ interval: { from, to } }) => to <= from)
  })
  return nodes[Math.max(...positions)]
}

/** Multiply-adds of a node's forward per output element; 0 for ops without weights. */
const multiplyAddsPerOutput = (node: Node): number => {
  const weight = node.parameters.find(({ role }) => role === 'weight')
  return weight === undefined ? 0 : weight.shape.slice(1).reduce((product, extent) => product * extent, 1)
}

/** Forward multiply-adds of a segment when tiled: halos are computed once a tile. */
export const segmentMultiplyAdds = (graph: Graph, span: Span, tiling: SegmentTiling): number => {
  const outputExtent = (axis: TileAxis, position: number): number =>
    tiling[axis].reduce((sum, run) => {
      const { from, to } = run.readings[position + 1]?.interval ?? run.output
      return sum + run.count * (to - from)
    }, 0)
  return graph.nodes
    .slice(span.from, span.to)
    .reduce(
      (sum, node, position) =>
        sum +
        (isLoss(node.op) ? 0 : multiplyAddsPerOutput(node)) *
          node.output[1] *
          tileAxes.reduce((product, axis) => product * outputExtent(axis, position), 1),
      0
    )
}
