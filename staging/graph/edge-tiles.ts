import type { Graph } from './graph'
import { intersect, type Interval } from './interval'
import { partOfRun } from './part-of-run'
import type { TileRun } from './tile-runs'

/** Rows of a tensor, and whether tiles make them or read them. */
export interface RowsOfTensor {
  readonly tensor: number
  readonly of: 'owned' | 'held'
  readonly rows: Interval
}

/** The runs along H of tiles that have some of the rows asked for, and of those that have none. */
export interface EdgeTiles {
  readonly edges: readonly TileRun[]
  readonly inner: readonly TileRun[]
}

/**
 * Cuts the runs along H of a segment that begins at `from` into the tiles with some of the rows and
 * all others.
 */
export const findEdgeTiles = (graph: Graph, from: number, runs: readonly TileRun[], wanted: readonly RowsOfTensor[]): EdgeTiles => {
  const parts: { readonly isEdge: boolean; readonly run: TileRun }[] = []
  for (const run of runs) {
    const isEdge = (index: number): boolean =>
      wanted.some(({ tensor, of, rows }) => {
        const first = run[of].get(tensor)!
        const moved = index * run.advances.get(tensor)!
        return intersect({ from: first.from + moved, to: first.to + moved }, rows) !== undefined
      })
    for (let first = 0, next = 1; first < run.count; first = next++) {
      const is = isEdge(first)
      while (next < run.count && isEdge(next) === is) next++
      parts.push({ isEdge: is, run: partOfRun(graph, from, run, first, next - first) })
    }
  }
  const those = (wantsEdges: boolean): readonly TileRun[] => parts.flatMap(({ isEdge, run }) => (isEdge === wantsEdges ? [run] : []))
  return { edges: those(true), inner: those(false) }
}
