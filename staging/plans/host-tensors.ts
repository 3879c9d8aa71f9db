import { validateHostRows, validateRematerializations } from '../../dsl/internal'
import type { Graph } from '../graph/graph'
import type { Segment } from './plan'
import type { Span } from '../graph/span'
import { isLiveAfter, boundaryTensors } from '../graph/boundary-tensors'

/**
 * Why the segment at `place` cannot run forward again in place of what leaves it. The graph is in
 * the order in which it runs.
 */
export const validateRematerialize = (graph: Graph, segments: readonly Segment[], place: number): string | undefined => {
  const mistake = validateRematerializations(segments, place)
  if (mistake !== undefined || segments[place]!.rematerialize !== true) return mistake
  const before = segments.find((segment, at) => at > place && segment.rematerialize !== true)!
  const far = boundaryTensors(graph, segments[place]!).outputs.find((tensor) => isLiveAfter(graph, tensor, before.to))
  return far === undefined
    ? undefined
    : `rematerialize: the output of ${graph.nodes[far - 1]!.name} is read after segment ${before.from}..${before.to}, so it must be kept`
}

/** The tensors that a segment leaves on the host. */
export const listHostTensors = ({ hostTensors = [] }: Segment): readonly number[] => hostTensors.map((position) => position + 1)

/** The tensors at a segment's ends that are `onHost`. */
export const endsOnHost = (graph: Graph, span: Span, onHost: ReadonlySet<number>): readonly number[] => {
  const { inputs, outputs } = boundaryTensors(graph, span)
  return [...inputs, ...outputs].filter((tensor) => onHost.has(tensor))
}

/**
 * Why the tiles of a segment read nothing that could be prefetched. The graph is in the order in
 * which it runs.
 */
export const validatePrefetch = (graph: Graph, segments: readonly Segment[], segment: Segment): string | undefined =>
  segment.prefetch !== true || segment.from === 0 || endsOnHost(graph, segment, new Set(segments.flatMap(listHostTensors))).length > 0
    ? undefined
    : 'prefetch: this segment reads neither images nor, in bands of rows, the host; leave it out'

/**
 * Why the output of a layer of a segment cannot stay on the host and pass by bands of rows. The
 * graph is in the order in which it runs.
 */
export const validateHostTensor = (graph: Graph, segments: readonly Segment[], { to }: Segment, position: number): string | undefined => {
  const { name, access } = graph.nodes[position]!
  if (!isLiveAfter(graph, position + 1, to)) return `hostTensors: the output of ${name} does not leave this segment`
  if (access.H.kind === 'reduce') return `hostTensors: the output of ${name} has no rows of its own`
  const touching = [position, ...graph.readers[position + 1]!]
  return segments
    .filter(({ from, to }) => touching.some((at) => from <= at && at < to))
    .flatMap((segment) => validateHostRows(name, segment) ?? [])[0]
}
