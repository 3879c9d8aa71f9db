import { fusibleTileAxes } from '../../graph/grid'
import { leastSharesComputed } from '../../graph/unread'
import { untiled } from '../../graph/span'
import { lazy, memoizeByNumber } from '../../memoize'
import type { Segment } from '../../plans/plan'
import { blockPairs } from '../block-pairs'
import type { Search } from '../strategy'
import type { LeastWeights } from './least-weights'
import type { Boundaries, OptionBytes } from './option-bytes'
import type { SegmentWays } from './segment-ways'
import type { SpanFacts } from './span-facts'

/** What a segment takes at least, soon known; a variant by its place among the ways. */
export interface SegmentBounds {
  /** No tiles take less than this of what the whole takes. */
  readonly leastShare: number
  /** By variant: bytes that it adds at least. */
  readonly leastBytes: () => readonly LeastWeights[]
  /** Whether a variant may fit without tiles. */
  readonly mayFitWhole: (variant: number, available: number) => boolean
  /** A variant whole, computed again but for the last segment. */
  readonly wholeIn: (variant: number) => Segment
  /** Whether pairs of blocks tell anything of it. */
  readonly byPairs: boolean
  /** What they tell of that, and undefined or 0 where nothing. */
  readonly pairNanoseconds: (variant: number) => number | undefined
  readonly pairBytes: (variant: number) => number
}

/** The bounds of a segment of these facts, which runs in these ways. */
export const segmentBounds = (
  search: Search,
  { onHost, leastWeights, readBytes }: Pick<Boundaries, 'onHost' | 'leastWeights' | 'readBytes'>,
  { gradients, isFrozen }: Pick<OptionBytes, 'gradients' | 'isFrozen'>,
  { span, isLast, wanted, inRows }: SpanFacts,
  { variants, segmentIn }: Pick<SegmentWays, 'variants' | 'segmentIn'>
): SegmentBounds => {
  const { graph } = search
  const frozen = isFrozen(span)
  const canTile = wanted !== undefined || inRows || fusibleTileAxes(graph, span).length > 0
  const leastBytes = lazy(() => {
    const { before, after, through } = frozen ? { before: 0, after: 0, through: 0 } : gradients(span)
    const read = readBytes(span).all
    // Tiles read the one and add to the other.
    const around = canTile ? before + after + through : Infinity
    return variants.map((variant): LeastWeights => {
      const { whole, tiled, shared } = leastWeights(span, variant)
      return { whole: through + Math.max(whole, before, after + read), tiled: around + tiled, shared: around + shared }
    })
  })
  const wholeIn = (variant: number): Segment => segmentIn(variants[variant]!, untiled, !isLast)
  // All on the device, and where something learns.
  const byPairs = wanted === undefined && onHost === undefined && graph.objective.kind !== 'evaluate' && !frozen
  const pairBytes = memoizeByNumber((variant) => (byPairs ? blockPairs(search).addedBytes(wholeIn(variant)) : 0))
  return {
    leastShare: wanted === undefined && canTile ? Math.min(...leastSharesComputed(graph, span)) : 1,
    leastBytes,
    mayFitWhole: (variant, available) =>
      wanted !== undefined || inRows || (leastBytes()[variant]!.whole <= available && pairBytes(variant) <= available),
    wholeIn,
    byPairs,
    pairNanoseconds: memoizeByNumber((variant) => (byPairs ? blockPairs(search).nanoseconds(wholeIn(variant)) : undefined)),
    pairBytes
  }
}
