import type { Graph } from './graph'
import type { Segment } from './plan'
import { crossesAfter } from './tiling'

/** Why the output of a layer of a segment cannot stay on the host and pass by bands of rows. The graph is in the order in which it runs. */
export const streamMistake = (graph: Graph, segments: readonly Segment[], { from, to }: Segment, position: number): string | undefined => {
  const node = graph.nodes[position]
  if (node === undefined) return 'streams: there is no such layer'
  if (position < from || position >= to) return `streams: ${node.name} is not in this segment`
  if (!crossesAfter(graph, position + 1, to)) return `streams: the output of ${node.name} does not leave this segment`
  if (node.access.H.kind === 'reduce') return `streams: the output of ${node.name} has no rows of its own`
  const readers = graph.readers[position + 1]!
  const other = segments.find(
    ({ grid, ...span }) => (grid.B > 1 || grid.W > 1) && [position, ...readers].some((at) => span.from <= at && at < span.to)
  )
  if (other === undefined) return undefined
  const { B, H, W } = other.grid
  const grid = `its grid must be 1x${H}x1 instead of ${B}x${H}x${W}`
  return `streams: the output of ${node.name} passes segment ${other.from}..${other.to} in bands of rows, so ${grid}`
}
