import type { Graph, Grid, Segment } from '../../staging'
import { fusibleTileAxes } from '../../staging'
import type { TileAxis } from '../../staging/program/program'
import { validatePrefetch, validateRematerialize, validateHostTensor } from '../../staging/plans/host-tensors'
import { boundaryTensors } from '../../staging/graph/boundary-tensors'
import { effectiveGrid, ownedExtent } from '../../staging/graph/grid'
import { segmentTiling } from '../../staging/graph/tiling'
import type { Draw } from './random-nets'

const randomGrid = (draw: Draw, graph: Graph, from: number, to: number, axes: readonly TileAxis[]): Grid => {
  const allowed = fusibleTileAxes(graph, { from, to })
  const count = (axis: 'B' | 'H' | 'W'): number =>
    allowed.includes(axis) && axes.includes(axis) ? draw(1, Math.min(6, ownedExtent(graph.nodes[to - 1]!, axis))) : 1
  const grid = effectiveGrid(graph, { from, to }, { B: count('B'), H: count('H'), W: count('W') })
  return segmentTiling(graph, { from, to }, grid) === undefined ? { B: 1, H: 1, W: 1 } : grid
}

/**
 * Segments that cover a graph, each with a random grid that does not divide anything in particular;
 * one ends before each op of `ends`.
 */
export const randomSegments = (
  draw: Draw,
  graph: Graph,
  axes: readonly TileAxis[] = ['B', 'H', 'W'],
  longest = graph.nodes.length,
  ends: readonly number[] = []
): readonly Segment[] => {
  const ops = graph.nodes.length
  const segments: Segment[] = []
  for (let from = 0; from < ops;) {
    const to = Math.min(ops, from + draw(1, Math.min(ops, longest)), ...ends.filter((end) => end > from))
    const grid = randomGrid(draw, graph, from, to, axes)
    const tiled = grid.B * grid.H * grid.W > 1
    segments.push({
      ...{ from, to, grid },
      recompute: tiled || draw(0, 1) === 1,
      reorder: draw(0, 1) === 1 ? 'once' : 'each-tile',
      ...(tiled && from === 0 && draw(0, 1) === 1 && { prefetch: true })
    })
    from = to
  }
  return segments
}

/** These segments, of which some now run forward once more before backward. */
export const withRematerialization = (draw: Draw, graph: Graph, segments: readonly Segment[]): readonly Segment[] =>
  segments.reduceRight<readonly Segment[]>((after, segment, place) => {
    const repeating: Segment = { ...segment, rematerialize: true }
    const all = [...segments.slice(0, place), repeating, ...after]
    return [draw(0, 2) > 0 && validateRematerialize(graph, all, place) === undefined ? repeating : segment, ...after]
  }, [])

/** These segments, with some of the tensors between them on the host. */
export const withStreams = (draw: Draw, graph: Graph, segments: readonly Segment[]): readonly Segment[] =>
  segments.map((segment) => {
    const positions = boundaryTensors(graph, segment).outputs.map((tensor) => tensor - 1)
    const hostTensors = positions.filter(
      (position) => validateHostTensor(graph, segments, segment, position) === undefined && draw(0, 3) > 0
    )
    return hostTensors.length === 0 ? segment : { ...segment, hostTensors }
  })

/**
 * These segments, of which some tiled ones now load what a tile brings while the tile before it is
 * computed.
 */
export const withLoading = (draw: Draw, graph: Graph, segments: readonly Segment[]): readonly Segment[] =>
  segments.map((segment): Segment => {
    const { prefetch: _, ...inTurn } = segment
    const isTiled = Object.values(segment.grid).some((count) => count > 1)
    const loading: Segment = { ...inTurn, prefetch: true }
    return isTiled && validatePrefetch(graph, segments, loading) === undefined && draw(0, 2) > 0 ? loading : inTurn
  })
