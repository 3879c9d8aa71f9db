import type { Graph } from './graph'
import type { Segment } from './plan'
import { crossesAfter, endsOf, type Span } from './tiling'

/** The segment before whose backward the one at `place` runs forward again, with those between them: the next that does not repeat. */
const repeatedBefore = (segments: readonly Segment[], place: number): number =>
  segments.findIndex((segment, at) => at > place && segment.repeats !== true)

/** Why the segment at `place` cannot run forward again in place of what leaves it. The graph is in the order in which it runs. */
export const repeatMistake = (graph: Graph, segments: readonly Segment[], place: number): string | undefined => {
  const segment = segments[place]!
  const before = segments[repeatedBefore(segments, place)]
  if (before === undefined || before.to === graph.nodes.length)
    return 'repeats: the last segment runs backward right after forward, so what leads up to it is still there'
  if (!segment.recompute) return 'repeats: what runs forward again keeps nothing; recompute must be true'
  const far = endsOf(graph, segment).outputs.find((tensor) => crossesAfter(graph, tensor, before.to))
  return far === undefined
    ? undefined
    : `repeats: the output of ${graph.nodes[far - 1]!.name} is read after segment ${before.from}..${before.to}, so it must be kept`
}

/** The tensors that a segment leaves on the host. */
export const streamedBy = ({ streams = [] }: Segment): readonly number[] => streams.map((position) => position + 1)

/** The tensors at a segment's ends that are `onHost`. */
export const endsOnHost = (graph: Graph, span: Span, onHost: ReadonlySet<number>): readonly number[] => {
  const { inputs, outputs } = endsOf(graph, span)
  return [...inputs, ...outputs].filter((tensor) => onHost.has(tensor))
}

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
