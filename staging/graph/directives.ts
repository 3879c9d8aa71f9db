import type { Graph } from './graph'
import type { TileAxis } from '../program/program'
import { effectiveGrid } from './grid'
import type { Grid, Span } from './span'

/** Returns the nodes before which the model asks for a checkpoint. */
export const requestedCheckpoints = (graph: Graph): readonly number[] =>
  graph.directives.flatMap(({ kind, at }) => (kind === 'checkpoint' ? [at] : []))

/** A segment whose tiles the model asks for. */
interface RequestedTiles extends Span {
  /** Tile counts as the model asks for them. */
  readonly wanted: Grid
  /** Tile counts that are possible: no more than rows, columns and images. */
  readonly grid: Grid
}

/**
 * Merges the tile counts that the `tile` directives of one segment ask for; where two name the same
 * axis, the later one counts.
 */
const gridWanted = (graph: Graph, { from, to }: Span): Grid => {
  const grids = graph.directives.flatMap((directive) =>
    directive.kind === 'tile' && from <= directive.at && directive.at < to ? [directive.grid] : []
  )
  const count = (axis: TileAxis): number => grids.reduce((tiles, grid) => grid[axis] ?? tiles, 1)
  return { B: count('B'), H: count('H'), W: count('W') }
}

/** A `tile` directive wants all between the checkpoints around it in one segment. */
export const requestedTiles = (graph: Graph): readonly RequestedTiles[] => {
  const bounds = [...new Set([0, ...requestedCheckpoints(graph), graph.nodes.length])].sort((a, b) => a - b)
  const spans = bounds.slice(1).map((to, index): Span => ({ from: bounds[index]!, to }))
  return spans
    .filter(({ from, to }) => graph.directives.some(({ kind, at }) => kind === 'tile' && from <= at && at < to))
    .map((span) => {
      const wanted = gridWanted(graph, span)
      return { ...span, wanted, grid: effectiveGrid(graph, span, wanted) }
    })
}
