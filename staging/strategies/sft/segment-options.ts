import { untiled, type Span } from '../../graph/span'
import { lazy, rememberSteps } from '../../memoize'
import { blockPairs } from '../block-pairs'
import type { Search } from '../strategy'
import { boundedOption } from './bounded-option'
import type { SegmentOption } from './grid-search'
import type { Boundaries, OptionBytes } from './option-bytes'
import { segmentBounds } from './segment-bounds'
import { segmentWays, type VariantOptions } from './segment-ways'
import type { SpanFacts } from './span-facts'
import { fastestTiled } from './tiled-options'

/** No option of a kind does with less of either. */
export interface LeastCost {
  readonly nanoseconds: number
  /** Bytes that are kept from forward until backward. */
  readonly keptBytes: number
}

/** How the nodes between two positions may run as one segment. */
export interface SegmentOptions {
  /** About none takes less, by the parts of the span. */
  readonly aboutNanoseconds: () => number
  /** Nanoseconds of the fastest option; infinitely many where there is none. */
  readonly minNanoseconds: () => number
  /**
   * No option that adds no more than `available` bytes takes less; no tile is looked at for that.
   */
  readonly leastNanoseconds: (available: number) => number
  /**
   * The least costs of segments that are kept, and of those that are computed again, in tiles or
   * not.
   */
  readonly leastCosts: () => readonly LeastCost[]
  /** What any option adds at least to what is resident, and what it keeps. */
  readonly leastAddedBytes: number
  readonly leastKeptBytes: number
  /**
   * At most four options that add no more than `available` bytes to what is resident, but for those
   * with `settle`, which may add more and take longer than they seem to: the fastest
   * that is kept, that is computed again whole, and that is so block by block, where that is faster
   * than what fits whole; and in tiles, those only where they may take no more than
   * `tiledNanoseconds`. Where the model asks for tiles, they alone.
   */
  readonly within: (available: number, tiledNanoseconds: number) => readonly SegmentOption[]
}

/** What the segments of all spans are searched with. */
export interface SegmentSearching {
  readonly search: Search
  readonly boundaries: Boundaries
  readonly bytes: OptionBytes
  /** What a span takes, about, by its parts. */
  readonly aboutNanoseconds: (span: Span) => number
  /** As `rematerializedWithin`, where that may be. */
  readonly rematerialized: (span: Span) => (available: number) => SegmentOption | undefined
}

/** The options of the segment of these facts. */
export const segmentOptions = (
  { search, boundaries, bytes, aboutNanoseconds, rematerialized }: SegmentSearching,
  facts: SpanFacts
): SegmentOptions => {
  const { span, isLast, wanted, sharesInside, keepable, inRows, grids } = facts
  const { variants, isLimited, reordering, beside, loadings, segmentIn, again, ...ways } = segmentWays(search, boundaries, bytes, facts)
  const bounds = segmentBounds(search, boundaries, bytes, facts, { variants, segmentIn })
  const { leastShare, leastBytes, mayFitWhole, wholeIn, pairNanoseconds, pairBytes } = bounds
  const endBytes = bytes.ends(span)
  const leastKeptBytes = bytes.outputs(span) - bytes.freed(span)
  const ownBytes = lazy(() => leastKeptBytes + boundaries.readBytes(span).own)
  const isShared = bounds.byPairs && !isLast && sharesInside
  /** Those of many parts by what pairs of blocks tell. */
  const kept = !isShared
    ? ways.kept
    : ways.kept.map((exact, variant) => {
        const segment = segmentIn(variants[variant]!, untiled, false)
        return boundedOption(exact, {
          segment: () => segment,
          nanoseconds: () => blockPairs(search).nanoseconds(segment),
          addedBytes: lazy(() => blockPairs(search).addedBytes(segment)),
          keptBytes: ownBytes
        })
      })
  /** What needs least without tiles. */
  const coarsest = again.length > 0 ? again : ways.kept
  const bounded = coarsest.map((exact, variant) =>
    boundedOption(exact, {
      segment: () => wholeIn(variant),
      nanoseconds: () => pairNanoseconds(variant),
      addedBytes: () => pairBytes(variant),
      keptBytes: () => leastKeptBytes
    })
  )
  /** Of the whole alone where bands may pass beside it. */
  const nanosecondsOf = (option: SegmentOption | undefined): number =>
    option === undefined ? Infinity : beside ? search.estimate(option.segment)!.nanoseconds() : option.nanoseconds()
  const inTiles = fastestTiled({
    ...{ span, grids, variants, reordering, loadings, inRows, beside, least: leastBytes, optionOf: bytes.optionOf },
    leastNanoseconds: (variant) => leastShare * nanosecondsOf(coarsest[isLimited ? 0 : variant]!()!)
  })
  /** The place of the first that fits, -1 where none does. */
  const firstWithin = (options: VariantOptions, available: number): number =>
    options.findIndex((option, place) => mayFitWhole(place, available) && (option()?.addedBytes() ?? Infinity) <= available)
  /** No more than the coarsest take, and tiles. */
  const leastOfCoarsest = (variant: number): number => leastShare * (pairNanoseconds(variant) ?? nanosecondsOf(coarsest[variant]?.()))
  // What is computed again takes no less than where it is kept, but for what tiles leave out.
  const minNanoseconds = lazy(
    () => leastShare * Math.min(...(isShared ? [kept] : [kept, again]).map(([fastest]) => nanosecondsOf(fastest?.())))
  )
  return {
    aboutNanoseconds: lazy(() => (keepable && !isLast ? minNanoseconds() : leastShare * (pairNanoseconds(0) ?? aboutNanoseconds(span)))),
    minNanoseconds,
    leastNanoseconds: rememberSteps((available) => {
      if (endBytes > available) return Infinity
      if (wanted !== undefined || inRows || isLimited) return minNanoseconds()
      const place = isLast ? -1 : firstWithin(kept, available)
      const computed = leastBytes().findIndex(({ tiled }, variant) => tiled <= available || mayFitWhole(variant, available))
      const inBlocks = computed === 0 ? undefined : rematerialized(span)(available)
      return Math.min(nanosecondsOf(kept[place]?.()), computed === -1 ? Infinity : leastOfCoarsest(computed), nanosecondsOf(inBlocks))
    }),
    leastCosts: lazy(() => [
      ...kept.slice(0, 1).map((fastest): LeastCost => ({ nanoseconds: nanosecondsOf(fastest()), keptBytes: ownBytes() })),
      ...again.slice(0, 1).map((fastest): LeastCost => ({
        nanoseconds: isShared ? leastOfCoarsest(0) : leastShare * nanosecondsOf(fastest()),
        keptBytes: leastKeptBytes
      }))
    ]),
    leastAddedBytes: endBytes,
    leastKeptBytes,
    within: (available, tiledNanoseconds) => {
      if (endBytes > available) return []
      const [keptWhole, fitting] = [again.length === 0 ? -1 : firstWithin(kept, available), firstWithin(bounded, available)]
      const options: SegmentOption[] = []
      if (keptWhole !== -1) options.push(kept[keptWhole]!()!)
      if (fitting !== -1) options.push(bounded[fitting]!()!)
      if (wanted !== undefined) return options
      // Tiles of a variant that fits whole are slower than that, but for what passes beside
      // computing, and for what they leave out.
      const end = fitting === -1 || leastShare < 1 ? coarsest.length : fitting + (beside ? 1 : 0)
      const slowest = Math.min(tiledNanoseconds, fitting === -1 ? Infinity : bounded[fitting]!()!.nanoseconds())
      const tiled = inTiles(isLimited ? coarsest.length : end, available, slowest)
      if (tiled !== undefined) options.push(tiled)
      const inBlocks = fitting === 0 ? undefined : rematerialized(span)(available)
      if (inBlocks !== undefined && inBlocks.nanoseconds() < nanosecondsOf(bounded[fitting]?.())) options.push(inBlocks)
      return options
    }
  }
}
