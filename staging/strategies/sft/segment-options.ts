import { overlapsCopies } from '../../devices/device-model'
import { fusibleTileAxes } from '../../graph/grid'
import { leastSharesComputed } from '../../graph/unread'
import { lazy, memoizeByNumber, rememberSteps } from '../../memoize'
import { requestedTiles } from '../../graph/directives'
import { type Segment } from '../../plans/plan'
import { tileCount, untiled, type Grid, type Span } from '../../graph/span'
import { endsOnHost } from '../../plans/host-tensors'
import type { SegmentOption } from './grid-search'
import { blockPairs } from '../block-pairs'
import { candidateGrids } from '../grids'
import { leastKeptOption } from './least-kept-option'
import { boundedOption } from './bounded-option'
import type { LeastWeights } from './least-weights'
import { memoizeBySpan } from '../memoize-by-span'
import type { Boundaries, OptionBytes } from './option-bytes'
import { decidedBy } from '../decided-by'
import type { Search, Variant } from '../strategy'
import { listBlocks, rematerializedWithin } from './rematerialized-option'
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

const fastestFirst = (options: readonly (() => SegmentOption | undefined)[]): readonly (() => SegmentOption)[] =>
  options
    .flatMap((option) => option() ?? [])
    .sort((a, b) => a.nanoseconds() - b.nanoseconds())
    .map((option) => () => option)

/**
 * Options for the segment between any two positions; answers are remembered. A segment that is kept
 * whole and spans several positions is left out, `joinSegments` makes it of its parts, but where
 * ranks share rows, or where it keeps less than its parts do.
 */
export const createSegmentOptions = (
  search: Search,
  positions: readonly number[],
  boundaries: Boundaries,
  bytes: OptionBytes
): SegmentSearch => {
  const { onHost, reorders, leastWeights, readBytes, runsAgain, isJoined } = boundaries
  const { graph, device, estimate, variants: createVariants } = search
  const end = graph.nodes.length
  const tiled = requestedTiles(graph)
  const { optionOf } = bytes

  const wantedIn = (span: Span) => tiled.find(({ from, to }) => from === span.from && to === span.to)
  const isSinglePart = ({ from, to }: Span): boolean => !positions.some((position) => from < position && position < to)
  /** Whether parts of a segment that is kept share what each would have for itself. */
  const sharesInside = memoizeBySpan(
    end,
    ({ from, to }): boolean => onHost === undefined && positions.some((position) => from < position && position < to && isJoined(position))
  )
  const isKeepable = (span: Span): boolean => graph.shard !== undefined || span.to === end || isSinglePart(span) || sharesInside(span)
  const isInRows = (span: Span): boolean => onHost !== undefined && endsOnHost(graph, span, onHost).length > 0
  const gridsOf = memoizeBySpan(end, (span) => candidateGrids(graph, span, isInRows(span)))

  const blocksOf = memoizeBySpan(end, (span): readonly Span[] =>
    onHost === undefined &&
    graph.shard === undefined &&
    graph.objective.kind !== 'evaluate' &&
    span.to < end &&
    tiled.length === 0 &&
    !bytes.isFrozen({ from: span.from, to: span.from + 1 })
      ? listBlocks(search, positions, span)
      : []
  )
  /** All on the device, and where something learns. */
  const boundedByPairs = (span: Span): boolean => onHost === undefined && graph.objective.kind !== 'evaluate' && !bytes.isFrozen(span)
  const mayRematerialize = (span: Span): boolean => blocksOf(span).length > 1 && gridsOf(span).length === 0
  const rematerializedBy = (variantsOf: (block: Span) => readonly Variant[]) =>
    memoizeBySpan(end, (span) =>
      mayRematerialize(span) ? rematerializedWithin(search, bytes, blocksOf(span), variantsOf) : () => undefined
    )
  const rematerialized = rematerializedBy(createVariants)
  const leastRematerialized = rematerializedBy((block) => [search.lastVariant(block)])

  /** How a span may run: in which variants, kept or computed again, and in which tiles. */
  const waysOf = (span: Span) => {
    const isLast = span.to === end
    const [wanted, keepable] = [wantedIn(span), isKeepable(span)]
    const variants = createVariants(span)
    const reordering: readonly Segment['reorder'][] =
      reorders(span) || variants.some(({ winograd }) => winograd !== undefined) ? ['once', 'each-tile'] : ['once']
    // A limit on scratch binds tiles less than the whole: within it they may be faster, though
    // never than the whole without it.
    const isLimited = variants.some(({ workspace }) => workspace !== undefined)
    const inRows = isInRows(span)
    /** Whether what passes in bands takes less time beside computing. */
    const beside = inRows && overlapsCopies(device)
    const readsImage = span.from === 0 && graph.source.kind === 'image'
    // Where copies do not overlap, and in an evaluation, loading beside computing gains next to
    // nothing, and tiles that are loaded in turn are not computed where they are of one colour.
    const loadsAhead = readsImage && overlapsCopies(device) && graph.objective.kind !== 'evaluate'
    /** Of tiles. */
    const loadings: readonly Pick<Segment, 'prefetch'>[] = loadsAhead ? [{ prefetch: true }, {}] : beside ? [{}, { prefetch: true }] : [{}]
    const segmentIn = (variant: Variant, grid: Grid, recompute: boolean): Segment => ({
      ...{ ...span, grid, recompute, reorder: 'once' },
      ...decidedBy(variant, { recompute, grid })
    })
    const inVariants = (grid: Grid, recompute: boolean): readonly (() => SegmentOption | undefined)[] =>
      variants.flatMap((variant) =>
        (tileCount(grid) > 1 ? loadings : [{}]).map((loading) =>
          lazy(() => optionOf({ ...segmentIn(variant, grid, recompute), ...loading }))
        )
      )
    /**
     * From the fastest to the slowest; only tiles that the model asks for must be looked at for
     * that.
     */
    const kept =
      wanted === undefined
        ? keepable
          ? inVariants(untiled, false)
          : []
        : fastestFirst(inVariants(wanted.grid, !isLast || tileCount(wanted.grid) > 1))
    const again = wanted === undefined && !isLast ? inVariants(untiled, true) : []
    const coarsest = again.length > 0 ? again : kept
    return { isLast, wanted, keepable, variants, reordering, isLimited, inRows, beside, loadings, segmentIn, kept, again, coarsest }
  }

  const open = (span: Span): SegmentOptions => {
    const { isLast, wanted, keepable, variants, reordering, isLimited, inRows, beside, loadings, segmentIn, again, coarsest, ...ways } =
      waysOf(span)
    const endBytes = bytes.ends(span)
    const leastKeptBytes = bytes.outputs(span) - bytes.freed(span)
    const ownBytes = lazy(() => leastKeptBytes + readBytes(span).own)
    const byPairs = wanted === undefined && boundedByPairs(span)
    const isShared = byPairs && !isLast && sharesInside(span)
    const keptByPairs = (variant: number) => {
      const [pairs, segment] = [blockPairs(search), segmentIn(variants[variant]!, untiled, false)]
      const addedBytes = lazy(() => pairs.addedBytes(segment))
      return { segment: () => segment, nanoseconds: () => pairs.nanoseconds(segment), addedBytes, keptBytes: ownBytes }
    }
    /** Those of many parts by what pairs of blocks tell. */
    const kept = isShared ? ways.kept.map((exact, variant) => boundedOption(exact, keptByPairs(variant))) : ways.kept
    const canTile = wanted !== undefined || inRows || fusibleTileAxes(graph, span).length > 0
    const wholeIn = (variant: number): Segment => segmentIn(variants[variant]!, untiled, !isLast)
    /** No tiles take less than this of what the whole takes. */
    const leastShare = wanted === undefined && canTile ? Math.min(...leastSharesComputed(graph, span)) : 1
    /** By variant: what it adds at least. */
    const least = lazy(() => {
      const { before, after, through } = bytes.isFrozen(span) ? { before: 0, after: 0, through: 0 } : bytes.gradients(span)
      const read = readBytes(span).all
      // Tiles read the one and add to the other.
      const beside = before + after + through
      return variants.map((variant): LeastWeights => {
        const { whole, tiled, shared } = leastWeights(span, variant)
        const around = canTile ? beside : Infinity
        return { whole: through + Math.max(whole, before, after + read), tiled: around + tiled, shared: around + shared }
      })
    })
    /** What pairs of blocks tell, by variant. */
    const pairNanoseconds = memoizeByNumber((variant) => (byPairs ? blockPairs(search).nanoseconds(wholeIn(variant)) : undefined))
    const leastOfPairs = memoizeByNumber((variant) => (byPairs ? blockPairs(search).addedBytes(wholeIn(variant)) : 0))
    /** Whether a variant may fit without tiles. */
    const mayFitWhole = (variant: number, available: number): boolean =>
      wanted !== undefined || inRows || (least()[variant]!.whole <= available && leastOfPairs(variant) <= available)
    const inTiles = fastestTiled({
      ...{ span, variants, reordering, loadings, inRows, beside, least, optionOf },
      grids: () => gridsOf(span),
      leastNanoseconds: (variant) => leastShare * nanosecondsOf(coarsest[isLimited ? 0 : variant]!()!)
    })
    const bounded = coarsest.map((exact, variant) =>
      boundedOption(exact, {
        segment: () => wholeIn(variant),
        nanoseconds: () => pairNanoseconds(variant),
        addedBytes: () => leastOfPairs(variant),
        keptBytes: () => leastKeptBytes
      })
    )
    /** The place of the first that fits, -1 where none does. */
    const firstWithin = (options: readonly (() => SegmentOption | undefined)[], available: number): number => {
      for (let place = 0; place < options.length; place++)
        if (mayFitWhole(place, available) && (options[place]!()?.addedBytes() ?? Infinity) <= available) return place
      return -1
    }
    /** Of the whole alone where bands may pass beside it. */
    const nanosecondsOf = (option: SegmentOption | undefined): number =>
      option === undefined ? Infinity : beside ? estimate(option.segment)!.nanoseconds() : option.nanoseconds()
    /** No more than the coarsest take, and tiles. */
    const leastOfCoarsest = (variant: number): number => leastShare * (pairNanoseconds(variant) ?? nanosecondsOf(coarsest[variant]?.()))
    // What is computed again takes no less than where it is kept, but for what tiles leave out.
    const minNanoseconds = lazy(
      () => leastShare * Math.min(...(isShared ? [kept] : [kept, again]).map(([fastest]) => nanosecondsOf(fastest?.())))
    )
    return {
      aboutNanoseconds: lazy(() => {
        if (keepable && !isLast) return minNanoseconds()
        return leastShare * (pairNanoseconds(0) ?? aboutNanoseconds(span))
      }),
      minNanoseconds,
      leastNanoseconds: rememberSteps((available) => {
        if (endBytes > available) return Infinity
        if (wanted !== undefined || inRows || isLimited) return minNanoseconds()
        const place = isLast ? -1 : firstWithin(kept, available)
        const computed = least().findIndex(({ tiled }, variant) => tiled <= available || mayFitWhole(variant, available))
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
        const [keptWhole, fitting] = [coarsest === ways.kept ? -1 : firstWithin(kept, available), firstWithin(bounded, available)]
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
  const optionsOf = memoizeBySpan(end, open)
  const leastKept = memoizeBySpan(end, (span) =>
    leastKeptOption(search, boundaries, bytes, {
      ...{ span, wanted: wantedIn(span)?.grid, keepable: isKeepable(span), inRows: isInRows(span), grids: () => gridsOf(span) },
      rematerialized: (available) => leastRematerialized(span)(available)
    })
  )
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
    const runs = span.to === end ? () => false : runsAgain(span)
    const isRun = ({ from, to }: Span): boolean => Array.from({ length: to - from }, (_, index) => from + index).every(runs)
    const again = inside.slice(0, -1).filter(isRun)
    return aboutShare * (inside.reduce((sum, { least }) => sum + least, 0) + again.reduce((sum, { forward }) => sum + forward, 0))
  }
  return { optionsOf, mayRematerialize, leastKept }
}
