import { untiled, type Span } from '../../graph/span'
import { lazy } from '../../memoize'
import { decidedBy } from '../decided-by'
import { memoizeBySpan } from '../memoize-by-span'
import type { Search, Variant } from '../strategy'
import type { SegmentOption } from './grid-search'
import { leastKeptOption } from './least-kept-option'
import type { Boundaries, OptionBytes } from './option-bytes'
import { rematerializedWithin } from './rematerialized-option'
import { segmentOptions, type SegmentOptions } from './segment-options'
import { createSpanFacts } from './span-facts'

/** What is asked of the spans between positions; answers are remembered. */
interface SegmentSearch {
  readonly optionsOf: (span: Span) => SegmentOptions
  /** Whether a span that has no tiles may run block by block, all but the last rematerialized. */
  readonly mayRematerialize: (span: Span) => boolean
  /** As `leastKeptOption`. */
  readonly leastKept: (span: Span) => (available: number) => SegmentOption | undefined
}

/**
 * A segment takes at least this share of what its parts take: less than all, since of what strides
 * leave out it computes nothing.
 */
const aboutShare = 0.94

/** Options for the segment between any two positions. */
export const createSegmentSearch = (
  search: Search,
  positions: readonly number[],
  boundaries: Boundaries,
  bytes: OptionBytes
): SegmentSearch => {
  const { graph, estimate, variants: createVariants, lastVariant } = search
  const end = graph.nodes.length
  const factsOf = createSpanFacts(search, positions, boundaries, bytes)
  const mayRematerialize = (span: Span): boolean => {
    const { blocks, grids } = factsOf(span)
    return blocks().length > 1 && grids().length === 0
  }
  const rematerializedBy = (variantsOf: (block: Span) => readonly Variant[]) =>
    memoizeBySpan(end, (span) =>
      mayRematerialize(span) ? rematerializedWithin(search, bytes, factsOf(span).blocks(), variantsOf) : () => undefined
    )
  const leastRematerialized = rematerializedBy((block) => [lastVariant(block)])

  /** Nanoseconds between two neighbours among the positions: at least, and forward once more. */
  const parts = lazy(() =>
    positions.slice(1).map((to, index) => {
      const span = { from: positions[index]!, to }
      const least = optionsOf(span).minNanoseconds()
      const [fastest] = createVariants(span)
      const whole = { grid: untiled, recompute: true }
      const forward = estimate({ ...span, ...whole, reorder: 'once', ...decidedBy(fastest!, whole) })?.forwardNanoseconds() ?? 0
      return { ...span, least: Number.isFinite(least) ? least : 0, forward }
    })
  )
  const aboutNanoseconds = (span: Span): number => {
    const inside = parts().filter(({ from, to }) => span.from <= from && to <= span.to)
    const runs = span.to === end ? () => false : boundaries.runsAgain(span)
    const isRun = ({ from, to }: Span): boolean => Array.from({ length: to - from }, (_, index) => from + index).every(runs)
    const again = inside.slice(0, -1).filter(isRun)
    return aboutShare * (inside.reduce((sum, { least }) => sum + least, 0) + again.reduce((sum, { forward }) => sum + forward, 0))
  }
  const searching = { search, boundaries, bytes, aboutNanoseconds, rematerialized: rematerializedBy(createVariants) }
  const optionsOf = memoizeBySpan(end, (span): SegmentOptions => segmentOptions(searching, factsOf(span)))
  return {
    optionsOf,
    mayRematerialize,
    leastKept: memoizeBySpan(end, (span) =>
      leastKeptOption(search, boundaries, bytes, { ...factsOf(span), rematerialized: (available) => leastRematerialized(span)(available) })
    )
  }
}
