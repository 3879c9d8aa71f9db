import { tileCount, untiled, type Grid } from '../../graph/span'
import { tileRuns } from '../../graph/tiling'
import { lazy } from '../../memoize'
import type { Segment } from '../../plans/plan'
import { tileAxes } from '../../program/program'
import { decidedBy } from '../decided-by'
import type { Search } from '../strategy'
import type { SegmentOption } from './grid-search'
import type { Boundaries, OptionBytes } from './option-bytes'
import type { SpanFacts } from './span-facts'

/** The facts that decide how a segment keeps least. */
interface LeastKeptSegment extends Pick<SpanFacts, 'span' | 'isLast' | 'wanted' | 'keepable' | 'inRows' | 'grids'> {
  /** Its blocks one by one, rematerialized, within so many bytes. */
  readonly rematerialized: (available: number) => SegmentOption | undefined
}

/** Ops of unlike tiles, at most: each has buffers of its own, and placing is quadratic in them. */
const mostUnlikeOps = 4096

/**
 * Finds the option of a segment that keeps the fewest bytes of those that add no more than so many,
 * undefined where there is none: by the variant with the least scratch, and nothing is timed. An
 * estimate: of tiles it looks at the finest alone, and coarser ones may add less, since finer ones
 * have more halos; and grids that would take minutes to place are left out.
 */
export const leastKeptOption = (
  { graph, lastVariant }: Pick<Search, 'graph' | 'lastVariant'>,
  { reorders, leastWeights }: Pick<Boundaries, 'reorders' | 'leastWeights'>,
  { optionOf, gradients, isFrozen, whole }: OptionBytes,
  { span, isLast, wanted, keepable, inRows, grids, rematerialized }: LeastKeptSegment
): ((available: number) => SegmentOption | undefined) => {
  const variant = lastVariant(span)
  const optionIn = (decided: Pick<Segment, 'grid' | 'recompute' | 'reorder'>) =>
    optionOf({ ...span, ...decided, ...decidedBy(variant, decided) })
  const leastTiled = lazy(() => {
    const { before, after, through } = isFrozen(span) ? { before: 0, after: 0, through: 0 } : gradients(span)
    return before + after + through + leastWeights(span, variant).tiled
  })
  const leastWhole = lazy(() => (wanted === undefined && !inRows && !isFrozen(span) ? whole(span) : 0))
  const unlikeTiles = (grid: Grid): number =>
    tileAxes.reduce((tiles, axis) => tiles * (tileRuns(graph, span, axis, grid[axis])?.length ?? 0), 1)
  const finest = lazy((): SegmentOption | undefined => {
    const reorder = reorders(span) ? 'each-tile' : 'once'
    const at = (index: number): SegmentOption | undefined => {
      const grid = grids()[index]!
      return !inRows && unlikeTiles(grid) * (span.to - span.from) > mostUnlikeOps ? undefined : optionIn({ grid, recompute: true, reorder })
    }
    let [low, high] = [0, grids().length]
    while (low < high) {
      const middle = (low + high) >> 1
      if (at(middle) === undefined) high = middle
      else low = middle + 1
    }
    return low === 0 ? undefined : at(low - 1)
  })
  const inGrid = (grid: Grid, recompute: boolean) => lazy(() => optionIn({ grid, recompute, reorder: 'once' }))
  // Those that keep least come first, and of those the ones that add least.
  const options =
    wanted === undefined
      ? [...(isLast ? [] : [inGrid(untiled, true)]), ...(keepable ? [inGrid(untiled, false)] : [])]
      : [inGrid(wanted, !isLast || tileCount(wanted) > 1)]
  return (available) => {
    const tiled = wanted === undefined && leastTiled() <= available ? [finest] : []
    const whole = leastWhole() <= available ? options : []
    return [...tiled, ...whole].find((option) => (option()?.addedBytes() ?? Infinity) <= available)?.() ?? rematerialized(available)
  }
}
