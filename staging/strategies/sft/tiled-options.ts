import type { Grid, Span } from '../../graph/span'
import { memoizeByNumber } from '../../memoize'
import type { Segment } from '../../plans/plan'
import { decidedBy } from '../decided-by'
import type { Variant } from '../strategy'
import { type SegmentOption, coarsestFitting, fastestPrefetching, firstFitting } from './grid-search'
import type { LeastWeights } from './least-weights'

/** The facts that decide how a segment may run in tiles. */
export interface TiledSegment {
  readonly span: Span
  readonly grids: () => readonly Grid[]
  readonly variants: readonly Variant[]
  /** How tiles may read weights. */
  readonly reordering: readonly Segment['reorder'][]
  /** Whether the images' tiles, or bands of what lies on the host, pass beside computing. */
  readonly loadings: readonly Pick<Segment, 'prefetch'>[]
  /** Whether tiles are bands of rows, which lie on the host. */
  readonly inRows: boolean
  /** Whether what passes in bands takes less time beside computing. */
  readonly beside: boolean
  /** By variant: what it adds at least. */
  readonly least: () => readonly Pick<LeastWeights, 'tiled' | 'shared'>[]
  /** Nanoseconds below which no tiles of a variant are. */
  readonly leastNanoseconds: (variant: number) => number
  readonly optionOf: (segment: Segment) => SegmentOption | undefined
}

/**
 * The fastest in tiles of the variants before `end` that adds no more than `available` bytes and
 * takes no more than `slowest` nanoseconds; all leave the same in memory.
 */
type FastestTiled = (end: number, available: number, slowest: number) => SegmentOption | undefined

type Decided = Pick<Segment, 'reorder' | 'prefetch'>

/**
 * Looks for a segment's best option among its grids and variants, each of which is estimated once.
 */
export const fastestTiled = (segment: TiledSegment): FastestTiled => {
  const { span, grids, variants, reordering, loadings, inRows, beside, least, leastNanoseconds, optionOf } = segment
  const decisions = reordering.flatMap((reorder) => loadings.map((loading): Decided => ({ reorder, ...loading })))
  /** By variant, then by what is decided. */
  const gridOptions = variants.map((variant) =>
    decisions.map((decided) =>
      memoizeByNumber((index) => {
        const tiled = { grid: grids()[index]!, recompute: true }
        return optionOf({ ...span, ...tiled, ...decided, ...decidedBy(variant, tiled) })
      })
    )
  )
  const fastestOf = (variant: number, decision: number, available: number, slowest: number): SegmentOption | undefined => {
    const decided = decisions[decision]!
    if (least()[variant]![decided.reorder === 'once' ? 'shared' : 'tiled'] > available) return undefined
    const nanoseconds = leastNanoseconds(variant)
    if (nanoseconds > slowest) return undefined
    const gridOption = gridOptions[variant]![decision]!
    // The fewest tiles are soon timed; more of them compute more twice, but may load sooner.
    const fewest = decided.prefetch === true || grids().length === 0 ? 0 : (gridOption(0)?.nanoseconds() ?? 0)
    if (fewest > slowest) return undefined
    if (!inRows) return firstFitting(grids().length, gridOption, available, Math.max(nanoseconds, fewest), slowest)
    const found =
      beside && decided.prefetch === true
        ? fastestPrefetching(grids(), gridOption, available)
        : coarsestFitting(grids().length, gridOption, available)
    return found !== undefined && found.nanoseconds() <= slowest ? found : undefined
  }
  return (end, available, slowest) => {
    let best: SegmentOption | undefined
    for (let variant = 0; variant < end; variant++)
      for (let decision = 0; decision < decisions.length; decision++) {
        const option = fastestOf(variant, decision, available, best?.nanoseconds() ?? slowest)
        if (option !== undefined && option.nanoseconds() < (best?.nanoseconds() ?? Infinity)) best = option
      }
    return best
  }
}
