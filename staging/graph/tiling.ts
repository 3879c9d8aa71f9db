import { elementCount } from './extents'
import { tileAxes, type TileAxis } from '../program/program'
import { axisTile, ownedParts, partsOfTile } from './axis-tile'
import type { Graph, Node } from './graph'
import { isEmpty, size } from './interval'
import { findShard } from './shard'
import type { Grid, Span } from './span'
import { tileRunsOfPart, tileRunsOfParts, type AxisPart, type TileRun } from './tile-runs'

/** What this rank has of a span along an axis: all of it, where ranks do not share it. */
const ownPart = (graph: Graph, span: Span, axis: TileAxis): AxisPart => {
  const shard = axis === 'W' ? undefined : findShard(graph, span)
  return axis === 'W' || shard === undefined ? { count: 1, index: 0 } : shard.parts[axis]
}

/**
 * The tiles of a segment along one dimension, grouped into runs; undefined when some tile would see
 * nothing but padding (then fewer tiles are needed). `tiles` is an upper bound (see
 * `effectiveTileCount`). Where ranks share images or rows, each part of those has as many of the
 * tiles along B or H, one part's after those of the one before; undefined too when some would have
 * none.
 */
export const tileRuns = (graph: Graph, span: Span, axis: TileAxis, tiles: number): readonly TileRun[] | undefined =>
  tileRunsOfPart(graph, span, axis, tiles, ownPart(graph, span, axis))

/** Runs along the three dimensions, or undefined when the grid is too fine (see `tileRuns`). */
export type SegmentTiling = { readonly [A in TileAxis]: readonly TileRun[] }

/**
 * The tiles of a span in a grid, as runs of equal ones; undefined where some tile, of some rank,
 * would own or read nothing.
 */
export const segmentTiling = (graph: Graph, span: Span, grid: Grid): SegmentTiling | undefined => {
  const [B, H, W] = tileAxes.map((axis) => tileRuns(graph, span, axis, grid[axis]))
  const parts = findShard(graph, span)?.parts
  const isForAll =
    parts === undefined ||
    (['B', 'H'] as const).every((axis) => tileRunsOfParts(graph, span, axis, grid[axis], parts[axis].count) !== undefined)
  return B && H && W && isForAll ? { B, H, W } : undefined
}

/**
 * The last layer of the span, if any, that would see nothing but padding even untiled: there is
 * nothing to compute.
 */
export const nodeWithoutInput = (graph: Graph, span: Span): Node | undefined => {
  const positions = tileAxes.map((axis) => {
    const tile = axisTile(graph, span, axis, partsOfTile(ownedParts(graph, span, axis, 1), 0))
    return tile.readings.findLastIndex(({ interval }) => isEmpty(interval))
  })
  return graph.nodes.slice(span.from, span.to)[Math.max(...positions)]
}

/** Forward multiply-adds of a segment when tiled: halos are computed once a tile. */
export const segmentMultiplyAdds = (graph: Graph, span: Span, tiling: SegmentTiling): number => {
  const heldExtent = (axis: TileAxis, tensor: number): number =>
    tiling[axis].reduce((sum, run) => sum + run.count * size(run.held.get(tensor)!), 0)
  return graph.nodes
    .slice(span.from, span.to)
    .reduce(
      (sum, node, position) =>
        sum + node.multiplyAdds * node.output[1] * elementCount(tileAxes.map((axis) => heldExtent(axis, span.from + position + 1))),
      0
    )
}
