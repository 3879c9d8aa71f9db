import type { Graph } from './graph'
import type { Segment } from './plan'
import { crossesAfter } from './tiling'

/** Why the output of a layer cannot stay on the host and pass by bands of rows. The graph is in the order in which it runs. */
export const streamMistake = (graph: Graph, segments: readonly Segment[], position: number): string | undefined => {
  const node = graph.nodes[position]
  const maker = segments.find(({ from, to }) => from <= position && position < to)
  if (node === undefined || maker === undefined) return `streams: there is no layer at ${position}`
  if (!crossesAfter(graph, position + 1, maker.to)) return `streams: the output of ${node.name} does not leave its segment`
  if (node.access.H.kind === 'reduce') return `streams: the output of ${node.name} has no rows of its own`
  const readers = graph.readers[position + 1]!
  const touching = segments.filter((one) => one === maker || readers.some((reader) => one.from <= reader && reader < one.to))
  const other = touching.find(({ grid }) => grid.B > 1 || grid.W > 1)
  if (other === undefined) return undefined
  const { B, H, W } = other.grid
  return `streams: bands of rows of the output of ${node.name} pass segment ${other.from}..${other.to}, so that its tiles must be rows alone, 1xHx1 instead of ${B}x${H}x${W}`
}
