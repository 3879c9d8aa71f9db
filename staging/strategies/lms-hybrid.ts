import { lazy } from '../memoize'
import type { Graph } from '../graph/graph'
import { isRectifier } from '../../dsl/internal'
import { sourceOrder } from '../graph/order'
import { untiled, type Span } from '../graph/span'
import { withSwapIntervals } from './swap-intervals'
import { lmsSchedules } from './lms'
import { wholeGraph } from './plain'
import type { Search, Segmentation, Strategy } from './strategy'

/**
 * What `recomp_checkpoint_ops_by_types` is tried with: convolutions, as in Imai 2019, whose outputs
 * are kept so that no convolution runs again, and max pools, between which there is more to win and
 * more to compute.
 */
const checkpointOps = ['conv2d', 'maxPool2d'] as const

/**
 * The subgraphs between checkpoints: each up to such an op, with the rectifier that works in its
 * place.
 */
const subgraphs = ({ nodes }: Graph, checkpoint: (typeof checkpointOps)[number]): readonly Span[] => {
  const checkpoints = nodes.flatMap(({ op }, position) => (op === checkpoint ? [position + 1] : []))
  const ends = [...checkpoints.map((to) => (isRectifier(nodes[to]!.op) ? to + 1 : to)), nodes.length]
  return ends.map((to, index) => ({ from: ends[index - 1] ?? 0, to }))
}

/**
 * Those that free anything when they are computed again, the one with the most bytes for its time
 * first.
 */
const recomputable = ({ estimate }: Search, spans: readonly Span[]): readonly Span[] =>
  spans
    .slice(0, -1)
    .flatMap((span) => {
      const [kept, again] = [false, true].map((recompute) => estimate({ ...span, grid: untiled, recompute, reorder: 'once' })!)
      const bytes = kept!.bytes().keptBytes - again!.bytes().keptBytes
      return bytes > 0 ? [{ span, gain: bytes / Math.max(1, again!.nanoseconds() - kept!.nanoseconds()) }] : []
    })
    .sort((a, b) => b.gain - a.gain)
    .map(({ span }) => span)

/** Segments that compute these subgraphs again; what is kept between two of them is one segment. */
const makeSegments = (spans: readonly Span[], again: readonly Span[]): Segmentation =>
  spans.reduce<Segmentation>((list, span) => {
    const recompute = again.includes(span)
    const before = list[list.length - 1]
    return before !== undefined && !recompute && !before.recompute
      ? [...list.slice(0, -1), { ...before, to: span.to }]
      : [...list, { ...span, grid: untiled, recompute, reorder: 'once' }]
  }, [])

/** For each type of checkpoint, at most so many lists are tried. */
const maxLists = 4

/**
 * Lists from one checkpoint to all that are of use, those first that free the most bytes for their
 * time.
 */
const checkpointLists = (search: Search): readonly Segmentation[] =>
  checkpointOps.flatMap((checkpoint) => {
    const spans = subgraphs(search.graph, checkpoint)
    const ranked = recomputable(search, spans)
    const count = Math.min(maxLists, ranked.length)
    return Array.from({ length: count }, (_, index) =>
      makeSegments(spans, ranked.slice(0, Math.ceil(((index + 1) * ranked.length) / count)))
    )
  })

/** Coarser than LMS alone, for there is one search for each list. */
const coarsely = { maxThresholds: 16, aheadFactor: 2.5 }

/**
 * TFLMS with recomputation (Imai 2019, section 3.2): the subgraphs in `checkpoint_list` are
 * computed again, and LMS swaps of what else is kept. The list is tuned too, which the paper leaves
 * open: from none, which is LMS, on.
 */
export const lmsHybrid: Strategy = {
  obeysDirectives: false,
  order: sourceOrder,
  kind: 'swapping',
  groups: (search) => {
    const scheduled = lazy(() => [
      ...withSwapIntervals(search, wholeGraph(search.graph), (seen) => lmsSchedules(seen), 'again'),
      ...checkpointLists(search).flatMap((segments) => withSwapIntervals(search, segments, (seen) => lmsSchedules(seen, coarsely), 'again'))
    ])
    return [{ target: undefined, scheduled }]
  }
}
