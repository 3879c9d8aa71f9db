import type { Graph } from '../graph'
import type { TileAxis } from '../program'
import { tilesMade } from '../region'
import { fusedTiledAxes, ownedExtent, type Grid, type Span } from '../tiling'

/** Tile counts tried along one dimension: every one up to 16, then about an eighth apart. */
const counts = Array.from({ length: 52 }).reduce<readonly number[]>(
  (found) => [...found, found.length < 16 ? found.length + 1 : Math.round(found[found.length - 1]! * 1.125)],
  []
)

/** Tiles are kept this close to square: a longer border is more halo for the same area. */
const longestAspect = 2.5

/** The numbers of tiles that these counts make of a dimension. */
const upTo = (extent: number): readonly number[] => [
  ...new Set(counts.filter((count) => count <= extent).map((count) => tilesMade(extent, count)))
]

/**
 * Grids worth trying for a segment, coarse to fine (paper 002, section 4.3: the search over tile counts). The batch is split
 * first, since that costs no halo; then height and width.
 */
export const candidateGrids = (graph: Graph, span: Span): readonly Grid[] => {
  const last = graph.nodes[span.to - 1]!
  const allowed = fusedTiledAxes(graph, span)
  const extent = (axis: TileAxis): number => (allowed.includes(axis) ? ownedExtent(last, axis) : 1)
  const [batch, height, width] = [extent('B'), extent('H'), extent('W')]
  const splits = [...new Set([...upTo(batch), batch])].map((B): Grid => ({ B, H: 1, W: 1 }))
  const tiles = upTo(height)
    .flatMap((H) => upTo(width).map((W): Grid => ({ B: batch, H, W })))
    .filter(({ H, W }) => H * W > 1 && aspect(height / H, width / W) <= Math.max(longestAspect, aspect(height, width)))
    .sort((a, b) => a.H * a.W - b.H * b.W || aspect(height / a.H, width / a.W) - aspect(height / b.H, width / b.W))
  return [...splits, ...tiles].filter(({ B, H, W }) => B * H * W > 1)
}

const aspect = (height: number, width: number): number => Math.max(height / width, width / height)
