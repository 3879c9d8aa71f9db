import { asWritten } from '../order'
import { untiled, type Span } from '../tiling'
import { withStays } from './host-stays'
import { lmsSchedules } from './lms'
import type { Search, Segmentation, Strategy } from './strategy'

/**
 * The subgraphs between checkpoints. Paper 001 puts them at convolutions; here rectifiers work in the place of what they rectify, so that
 * between two convolutions there is nothing to win, and checkpoints stand after max pools.
 */
const subgraphs = ({ lowering: { graph } }: Search): readonly Span[] => {
  const ends = [...graph.nodes.flatMap(({ op }, position) => (op === 'maxPool2d' ? [position + 1] : [])), graph.nodes.length]
  return ends.map((to, index) => ({ from: ends[index - 1] ?? 0, to }))
}

/** Those that free anything when they are computed again, the one with the most bytes for its time first. */
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
const segmentsOf = (spans: readonly Span[], again: readonly Span[]): Segmentation =>
  spans.reduce<Segmentation>((list, span) => {
    const recompute = again.includes(span)
    const before = list[list.length - 1]
    return before !== undefined && !recompute && !before.recompute
      ? [...list.slice(0, -1), { ...before, to: span.to }]
      : [...list, { ...span, grid: untiled, recompute, reorder: 'once' }]
  }, [])

/** Between two swap-ins ahead that are tried: coarser than LMS alone, for there is one search for each list. */
const growth = 2.5

/**
 * TFLMS with recomputation (paper 001, section 3.2): the subgraphs in `checkpoint_list` are computed again, and LMS swaps of what else is
 * kept. The list is tuned too, which the paper leaves open: from none on, by bytes saved for the time of computing them again.
 */
export const lmsHybrid: Strategy = {
  obeysMarks: false,
  order: asWritten,
  kind: 'swapping',
  all: (search) => {
    const spans = subgraphs(search)
    const ranked = recomputable(search, spans)
    return [...ranked.keys(), ranked.length].flatMap((count) =>
      withStays(search, segmentsOf(spans, ranked.slice(0, count)), (seen) => lmsSchedules(seen, growth))
    )
  }
}
