import { overlapsCopies } from '../../devices/device-model'
import { tileCount, untiled, type Grid } from '../../graph/span'
import { lazy } from '../../memoize'
import type { Segment } from '../../plans/plan'
import { decidedBy } from '../decided-by'
import type { Search, Variant } from '../strategy'
import type { SegmentOption } from './grid-search'
import type { Boundaries, OptionBytes } from './option-bytes'
import type { SpanFacts } from './span-facts'

/** Options by variant, from the fastest to the slowest, each estimated when it is looked at. */
export type VariantOptions = readonly (() => SegmentOption | undefined)[]

/** How a span may run as one segment: in which variants, kept or computed again, in which tiles. */
export interface SegmentWays {
  readonly variants: readonly Variant[]
  /**
   * Whether a variant limits scratch, which binds tiles less than the whole: within the limit they
   * may be faster, though never than the whole without it.
   */
  readonly isLimited: boolean
  /** How tiles may read weights. */
  readonly reordering: readonly Segment['reorder'][]
  /** Whether what passes in bands takes less time beside computing. */
  readonly beside: boolean
  /** Of tiles. */
  readonly loadings: readonly Pick<Segment, 'prefetch'>[]
  readonly segmentIn: (variant: Variant, grid: Grid, recompute: boolean) => Segment
  /** In tiles where the model asks for them, each of which must be looked at to sort them. */
  readonly kept: VariantOptions
  /** Whole, computed again. */
  readonly again: VariantOptions
}

const fastestFirst = (options: VariantOptions): VariantOptions =>
  options
    .flatMap((option) => option() ?? [])
    .sort((a, b) => a.nanoseconds() - b.nanoseconds())
    .map((option) => () => option)

/** The ways of a span of which these are the facts. */
export const segmentWays = (
  { graph, device, variants: createVariants }: Pick<Search, 'graph' | 'device' | 'variants'>,
  { reorders }: Pick<Boundaries, 'reorders'>,
  { optionOf }: Pick<OptionBytes, 'optionOf'>,
  { span, isLast, wanted, keepable, inRows }: SpanFacts
): SegmentWays => {
  const variants = createVariants(span)
  const reordering: readonly Segment['reorder'][] =
    reorders(span) || variants.some(({ winograd }) => winograd !== undefined) ? ['once', 'each-tile'] : ['once']
  const beside = inRows && overlapsCopies(device)
  const readsImage = span.from === 0 && graph.source.kind === 'image'
  // Where copies do not overlap, and in an evaluation, loading beside computing gains next to
  // nothing, and tiles that are loaded in turn are not computed where they are of one colour.
  const loadsAhead = readsImage && overlapsCopies(device) && graph.objective.kind !== 'evaluate'
  const loadings: readonly Pick<Segment, 'prefetch'>[] = loadsAhead ? [{ prefetch: true }, {}] : beside ? [{}, { prefetch: true }] : [{}]
  const segmentIn = (variant: Variant, grid: Grid, recompute: boolean): Segment => ({
    ...{ ...span, grid, recompute, reorder: 'once' },
    ...decidedBy(variant, { recompute, grid })
  })
  const inVariants = (grid: Grid, recompute: boolean): VariantOptions =>
    variants.flatMap((variant) =>
      (tileCount(grid) > 1 ? loadings : [{}]).map((loading) => lazy(() => optionOf({ ...segmentIn(variant, grid, recompute), ...loading })))
    )
  const asWanted = (grid: Grid): VariantOptions => fastestFirst(inVariants(grid, !isLast || tileCount(grid) > 1))
  return {
    ...{ variants, reordering, beside, loadings, segmentIn },
    isLimited: variants.some(({ workspace }) => workspace !== undefined),
    kept: wanted !== undefined ? asWanted(wanted) : keepable ? inVariants(untiled, false) : [],
    again: wanted === undefined && !isLast ? inVariants(untiled, true) : []
  }
}
