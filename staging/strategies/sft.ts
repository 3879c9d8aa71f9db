import { isDeepStrictEqual } from 'node:util'
import { lazily, lazilyBy } from '../lazily'
import { checkpointsAsked, tilesAsked } from '../marks'
import { copiesBeside } from '../device-model'
import type { SegmentEstimate } from '../lowering/estimate'
import { openContext } from '../lowering/lower'
import { openPool } from '../lowering/emitter'
import { isRounded } from '../lowering/parameters'
import { poolBeforeRectifying } from '../order'
import { gathersMoments } from '../normalisation'
import { aligned } from '../placement/placement'
import type { Segment } from '../plan'
import { endsOnHost } from '../streams'
import { crossing, endsOf, tileCount, untiled, type Grid, type Span } from '../tiling'
import { checkpointPositions, isCut, outputBytes } from './find-segments'
import { candidateGrids } from './grids'
import type { Search, Segmentation, Strategy } from './strategy'

/** A way to run the nodes between two positions. */
interface Option {
  readonly segment: Segment
  /** The most that it adds to what is resident, the tensors at its ends included. */
  readonly addedBytes: () => number
  readonly keptBytes: () => number
  readonly nanoseconds: () => number
}

/** The ways between two positions. */
interface Ways {
  /** None takes less. */
  readonly leastNanoseconds: number
  /** Those worth taking within `available` bytes; tiles only where they may take no more than `tiledNanoseconds`. */
  readonly within: (available: number, tiledNanoseconds: number) => readonly Option[]
}

/** Where segments may begin and end. */
interface Spans {
  readonly positions: readonly number[]
  /** Where a segment that starts here may end. */
  readonly from: (start: number) => readonly number[]
  /** From each position to the end, whatever the memory. */
  readonly leastNanoseconds: ReadonlyMap<number, number>
}

/** A plan of everything before a position: what it leaves in memory, what it costs in all. */
interface Label {
  readonly residentBytes: number
  readonly nanoseconds: number
  readonly last: { readonly segment: Segment; readonly before: Label } | undefined
}

/** Adds a label to those of a position, which are sorted by bytes upwards and time downwards; none is better in both than another. */
const insert = (labels: Label[], label: Label): void => {
  let [low, high] = [0, labels.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (labels[middle]!.residentBytes <= label.residentBytes) low = middle + 1
    else high = middle
  }
  if (low > 0 && labels[low - 1]!.nanoseconds <= label.nanoseconds) return
  if (low > 0 && labels[low - 1]!.residentBytes === label.residentBytes) low--
  let end = low
  while (end < labels.length && labels[end]!.nanoseconds >= label.nanoseconds) end++
  labels.splice(low, end - low, label)
}

const segmentsOf = ({ last }: Label): readonly Segment[] => (last === undefined ? [] : [...segmentsOf(last.before), last.segment])

/** Resident bytes are rounded up to this many significant bits, which bounds how many labels there are. */
const significantBits = 8

const rounded = (bytes: number): number => {
  const unit = 2 ** Math.max(0, Math.ceil(Math.log2(bytes + 1)) - significantBits)
  return Math.ceil(bytes / unit) * unit
}

/**
 * The first grid, from coarse to fine, that fits, by bisection. A grid that would be faster than a coarser one that was looked at, or
 * slower than a finer one, is passed over: so less memory never finds a faster grid. Where none fits, no times are asked for.
 */
const firstFitting = (
  count: number,
  optionOf: (index: number) => Option | undefined,
  available: number,
  fastest: number,
  slowest: number
): Option | undefined => {
  const tooLarge: Option[] = []
  let [low, high] = [0, count]
  while (low < high) {
    const middle = (low + high) >> 1
    const option = optionOf(middle)
    if (option === undefined) high = middle
    else if (option.addedBytes() <= available) break
    else {
      tooLarge.push(option)
      low = middle + 1
    }
  }
  if (low === high) return undefined
  let floor = tooLarge.reduce((slowest, option) => Math.max(slowest, option.nanoseconds()), fastest)
  let found: Option | undefined
  while (low < high && floor <= slowest) {
    const middle = (low + high) >> 1
    const option = optionOf(middle)
    if (option === undefined) high = middle
    else if (option.nanoseconds() < floor || (found !== undefined && option.nanoseconds() > found.nanoseconds())) low = middle + 1
    else if (option.addedBytes() <= available) [found, high] = [option, middle]
    else [floor, low] = [option.nanoseconds(), middle + 1]
  }
  return found
}

/** The coarsest grid that fits, by bisection. */
const coarsestFitting = (count: number, optionOf: (index: number) => Option | undefined, available: number): Option | undefined => {
  let [low, high] = [0, count]
  let found: Option | undefined
  while (low < high) {
    const middle = (low + high) >> 1
    const option = optionOf(middle)
    if (option !== undefined && option.addedBytes() > available) low = middle + 1
    else [found, high] = [option ?? found, middle]
  }
  return found
}

/** Grids that load ahead are looked at about a half finer each time. */
const finer = 1.5
/** And taken only for less than this part of the time: small tiles run a little slower than they are predicted to. */
const worthFiner = 0.97

/**
 * Of grids that load ahead the finer ones wait less, for the first tile's load and the last one's, but do more in all: from the coarsest that
 * fits on, as long as they get faster.
 */
const fastestAhead = (grids: readonly Grid[], optionOf: (index: number) => Option | undefined, available: number): Option | undefined => {
  const from = (best: Option): Option => {
    const index = grids.findIndex((grid) => tileCount(grid) >= finer * tileCount(best.segment.grid))
    const next = index === -1 ? undefined : optionOf(index)
    return next !== undefined && next.addedBytes() <= available && next.nanoseconds() < worthFiner * best.nanoseconds() ? from(next) : best
  }
  const coarsest = coarsestFitting(grids.length, optionOf, available)
  return coarsest && from(coarsest)
}

const isKeptWhole = ({ grid, recompute }: Segment): boolean => !recompute && tileCount(grid) === 1

/** Two segments as one in which their convolutions run as they do; undefined where no workspace of the two does for both. */
const asOne = (first: Segment, second: Segment, estimate: Search['estimate']): Segment | undefined => {
  const { winograd: _, workspace: __, ...both } = { ...first, to: second.to }
  const winograd = [...(first.winograd ?? []), ...(second.winograd ?? [])]
  const limits = [first, second].flatMap(({ workspace }) => workspace ?? []).sort((a, b) => b - a)
  const figures = (segment: Segment) => {
    const { bytes, nanoseconds } = estimate(segment)!
    return [bytes(), nanoseconds()]
  }
  const runsAsBefore = (workspace: number) => (segment: Segment) =>
    segment.workspace === undefined || isDeepStrictEqual(figures({ ...segment, workspace }), figures(segment))
  const workspace = limits.find((limit) => [first, second].every(runsAsBefore(limit)))
  if (limits.length > 0 && workspace === undefined) return undefined
  return { ...both, ...(winograd.length > 0 && { winograd }), ...(workspace !== undefined && { workspace }) }
}

/** Neighbours that are both kept whole run as one would; only a checkpoint of the model's stays between them. */
const joined = (segments: Segmentation, asked: readonly number[], estimate: Search['estimate']): Segmentation =>
  segments.reduce<Segmentation>((list, segment) => {
    const before = list[list.length - 1]
    const one =
      before !== undefined && isKeptWhole(before) && isKeptWhole(segment) && before.streams === undefined && !asked.includes(segment.from)
        ? asOne(before, segment, estimate)
        : undefined
    return one === undefined ? [...list, segment] : [...list.slice(0, -1), one]
  }, [])

interface Boundaries {
  /** Of a tensor, and of its gradient. */
  readonly tensorBytes: (tensor: number) => number
  readonly hasGradient: (tensor: number) => boolean
  readonly onHost: ReadonlySet<number>
  /** Nothing before this node has gradients, nor a use for its tensors once the next segment has run. */
  readonly firstLearning: number
  /** Whether backward reads weights of these nodes in another layout than forward. */
  readonly reorders: (span: Span) => boolean
}

/** Blocks between statistics that are computed again as one, at most. */
const mostBlocks = 8

/** Tiles of the images that are still loaded ahead: each is followed by itself when a Program is verified. */
const mostLoadedAhead = 4096

const fastestFirst = (options: readonly (() => Option | undefined)[]): readonly (() => Option)[] =>
  options
    .flatMap((option) => option() ?? [])
    .sort((a, b) => a.nanoseconds() - b.nanoseconds())
    .map((option) => () => option)

/** The ways between any two positions; answers are remembered. What is kept over several is joined later. */
const waysOf = (
  { lowering: { graph, source, device }, estimate, variants: variantsOf }: Search,
  positions: readonly number[],
  { tensorBytes, hasGradient, onHost, firstLearning, reorders }: Boundaries
): ((span: Span) => Ways) => {
  const end = graph.nodes.length
  const tiled = tilesAsked(graph)
  const isFrozen = ({ to }: Span): boolean => to <= firstLearning
  const bytesOf = (tensors: Iterable<number>): number => [...tensors].reduce((sum, tensor) => sum + tensorBytes(tensor), 0)
  const crossingAt = lazilyBy((position: number) => (position === end ? [] : crossing(graph, position)))
  const outputBytesOf = (span: Span): number => bytesOf(endsOf(graph, span).outputs)
  /** Gradients of all tensors that live on either side of a segment. */
  const gradientBytes = ({ from, to }: Span): number =>
    bytesOf(new Set([...crossingAt(from), ...crossingAt(to)].filter((tensor) => hasGradient(tensor))))
  /** What the tensors at a segment's ends take, however it runs. */
  const endBytesOf = (span: Span): number => (isFrozen(span) ? outputBytesOf(span) : gradientBytes(span))
  const asOption = (segment: Segment, estimated: SegmentEstimate): Option => {
    const after = outputBytesOf(segment)
    const frozen = isFrozen(segment)
    const remaining = frozen ? new Set(crossingAt(segment.to)) : undefined
    const freed = remaining === undefined ? 0 : bytesOf(crossingAt(segment.from).filter((tensor) => !remaining.has(tensor)))
    return {
      segment,
      addedBytes: lazily(() => {
        const { forwardBytes, backwardBytes } = estimated.bytes()
        // The last segment's forward is a part of its backward, even where nothing is learnt.
        const backward = frozen ? backwardBytes : (segment.recompute ? 0 : after) + gradientBytes(segment) + backwardBytes
        return Math.max(after + forwardBytes, backward)
      }),
      keptBytes: () => after + estimated.bytes().keptBytes - freed,
      nanoseconds: estimated.nanoseconds
    }
  }
  const optionOf = (segment: Segment): Option | undefined => {
    const streams = endsOf(graph, segment).outputs.flatMap((tensor) => (onHost.has(tensor) ? [tensor - 1] : []))
    const estimated = segment.loadsAhead === true && tileCount(segment.grid) > mostLoadedAhead ? undefined : estimate(segment, onHost)
    return estimated && asOption(streams.length === 0 ? segment : { ...segment, streams }, estimated)
  }

  const open = (span: Span): Ways => {
    const isLast = span.to === end
    const wanted = tiled.find(({ from, to }) => from === span.from && to === span.to)
    const keepable = isLast || !positions.some((position) => span.from < position && position < span.to)
    const variants = variantsOf(span)
    const reordering: readonly Segment['reorder'][] =
      reorders(span) || variants.some(({ winograd }) => winograd !== undefined) ? ['once', 'each-tile'] : ['once']
    // A limit on scratch binds tiles less than the whole: within it they may be faster, though never than the whole without it.
    const isLimited = variants.some(({ workspace }) => workspace !== undefined)
    const inRows = endsOnHost(graph, span, onHost).length > 0
    /** Whether what passes in bands takes less time beside computing. */
    const beside = inRows && copiesBeside(device)
    /** Of tiles. */
    const loadings: readonly Pick<Segment, 'loadsAhead'>[] =
      span.from === 0 && source.kind === 'image' ? [{ loadsAhead: true }, {}] : beside ? [{}, { loadsAhead: true }] : [{}]
    const inVariants = (grid: Grid, recompute: boolean): readonly (() => Option | undefined)[] =>
      variants.flatMap((variant) =>
        (tileCount(grid) > 1 ? loadings : [{}]).map((loading) =>
          lazily(() => optionOf({ ...span, grid, recompute, reorder: 'once', ...variant, ...loading }))
        )
      )
    /** From the fastest to the slowest; only tiles that the model asks for must be looked at for that. */
    const kept =
      wanted === undefined
        ? keepable
          ? inVariants(untiled, false)
          : []
        : fastestFirst(inVariants(wanted.grid, !isLast || tileCount(wanted.grid) > 1))
    const again = wanted === undefined && !isLast ? inVariants(untiled, true) : []
    const coarsest = again.length > 0 ? again : kept
    let grids: readonly Grid[] | undefined
    const gridOptions = new Map<string, (index: number) => Option | undefined>()
    const tiles = (
      variant: number,
      decided: Pick<Segment, 'reorder' | 'loadsAhead'>,
      available: number,
      slowest: number
    ): Option | undefined => {
      const nanoseconds = coarsest[isLimited ? 0 : variant]!()!.nanoseconds()
      if (!inRows && nanoseconds > slowest) return undefined
      grids ??= candidateGrids(graph, span, inRows)
      const key = `${variant},${decided.reorder},${decided.loadsAhead}`
      const gridOption =
        gridOptions.get(key) ??
        lazilyBy((index) => optionOf({ ...span, grid: grids![index]!, recompute: true, ...decided, ...variants[variant] }))
      gridOptions.set(key, gridOption)
      if (!inRows) return firstFitting(grids.length, gridOption, available, nanoseconds, slowest)
      const found =
        beside && decided.loadsAhead === true
          ? fastestAhead(grids, gridOption, available)
          : coarsestFitting(grids.length, gridOption, available)
      return found !== undefined && found.nanoseconds() <= slowest ? found : undefined
    }
    /** Of the variants before `end`, in tiles; all leave the same in memory. */
    const fastestTiles = (end: number, available: number, slowest: number): Option | undefined => {
      let best: Option | undefined
      for (let variant = 0; variant < end; variant++)
        for (const decided of reordering.flatMap((reorder) => loadings.map((loading) => ({ reorder, ...loading })))) {
          const option = tiles(variant, decided, available, best?.nanoseconds() ?? slowest)
          if (option !== undefined && option.nanoseconds() < (best?.nanoseconds() ?? Infinity)) best = option
        }
      return best
    }
    const endBytes = endBytesOf(span)
    /** Of the whole alone where bands may pass beside it. */
    const leastOf = (option: Option | undefined): number =>
      option === undefined ? Infinity : beside ? estimate(option.segment)!.nanoseconds() : option.nanoseconds()
    return {
      leastNanoseconds: Math.min(...[kept, again].map(([fastest]) => leastOf(fastest?.()))),
      within: (available, tiledNanoseconds) => {
        if (endBytes > available) return []
        const fits = (option: () => Option | undefined): boolean => (option()?.addedBytes() ?? Infinity) <= available
        const whole = [kept.find(fits), coarsest.find(fits)].map((option) => option?.())
        if (wanted !== undefined) return whole.slice(0, 1).flatMap((option) => option ?? [])
        // Tiles of a variant that fits whole are slower than that, but for what passes beside computing.
        const fitting = coarsest.findIndex(fits)
        const end = fitting === -1 ? coarsest.length : fitting + (beside ? 1 : 0)
        const tiled = fastestTiles(
          isLimited ? coarsest.length : end,
          available,
          Math.min(tiledNanoseconds, whole[1]?.nanoseconds() ?? Infinity)
        )
        return [...new Set([...whole, tiled])].flatMap((option) => option ?? [])
      }
    }
  }
  const known = new Map<string, Ways>()
  return (span) => {
    const key = `${span.from},${span.to}`
    const ways = known.get(key) ?? open(span)
    known.set(key, ways)
    return ways
  }
}

/**
 * Segmented fused-tiled execution (paper 002). Checkpoints stand where Listing 3 may put them for any capacity up to the
 * target; for each segment the tile counts are searched; a shortest path over (position, bytes resident) picks the
 * checkpoints and grids of least predicted time. `checkpoint` and `tile` in the model are obeyed. Where what is kept waits on the host,
 * the target is for each segment by itself; the tensors `onHost` are there throughout, but for bands of rows.
 */
export const fastestWithin = (search: Search, onHost?: ReadonlySet<number>): ((target: number) => readonly Segmentation[]) => {
  const { lowering, residentBytes } = search
  const { graph } = lowering
  const context = openContext(lowering, openPool())
  const sizes = outputBytes(context)
  const end = graph.nodes.length
  const asked = checkpointsAsked(graph)
  const tensorBytes = (tensor: number): number => (onHost?.has(tensor) === true ? 0 : aligned(sizes[tensor - 1]!))
  const hasGradient = (tensor: number): boolean => context.gradients[tensor]!
  const reorders = ({ from, to }: Span): boolean =>
    context.parameters
      .slice(from, to)
      .some((both) => both?.weight !== undefined && (both.weight.layout !== both.weight.backwardLayout || isRounded(context, both.weight)))
  const statistics = new Set(graph.nodes.flatMap((node, position) => (gathersMoments(node) ? [position] : [])))
  const positionsWithin = (target: number): readonly number[] => [0, ...checkpointPositions(graph, sizes, target, onHost), end]
  const ways = waysOf(search, positionsWithin(Infinity), {
    tensorBytes,
    hasGradient,
    onHost: onHost ?? new Set(),
    firstLearning: context.firstLearning,
    reorders
  })

  /** The label of least time at the end that takes no more than `limit`; tiled are only segments that start where `mayTile` says. */
  const fastest = (target: number, spans: Spans, limit: number, mayTile: (from: number) => boolean): Label | undefined => {
    const labels = new Map(spans.positions.map((position): [number, Label[]] => [position, []]))
    labels.get(0)!.push({ residentBytes: 0, nanoseconds: 0, last: undefined })
    for (const from of spans.positions)
      for (const to of spans.from(from)) {
        const { leastNanoseconds, within } = ways({ from, to })
        for (const before of labels.get(from)!) {
          const slack = limit - before.nanoseconds - spans.leastNanoseconds.get(to)!
          if (leastNanoseconds > slack) continue
          const available = target - residentBytes - before.residentBytes
          for (const { segment, keptBytes, nanoseconds } of within(available, mayTile(from) ? slack : -Infinity))
            insert(labels.get(to)!, {
              residentBytes: onHost === undefined ? rounded(before.residentBytes + keptBytes()) : 0,
              nanoseconds: before.nanoseconds + nanoseconds(),
              last: { segment, before }
            })
        }
      }
    return labels.get(end)!.at(-1)
  }

  const spansWithin = (target: number): Spans => {
    const positions = positionsWithin(target)
    const from = (start: number): readonly number[] => {
      const after = positions.filter((position) => position > start && !asked.some((at) => start < at && at < position))
      const barrier = after.find((position) => statistics.has(position)) ?? end
      const cuts = isCut(graph, start) ? after.filter((position) => isCut(graph, position)).slice(0, mostBlocks) : []
      // Tiles end where statistics are taken; beyond that only whole blocks are computed again.
      return after.filter((position) => position <= barrier || cuts.includes(position))
    }
    const leastNanoseconds = new Map([[end, 0]])
    for (const start of [...positions.slice(0, -1)].reverse())
      leastNanoseconds.set(
        start,
        Math.min(...from(start).map((to) => ways({ from: start, to }).leastNanoseconds + leastNanoseconds.get(to)!))
      )
    return { positions, from, leastNanoseconds }
  }

  return (target) => {
    const spans = spansWithin(target)
    // Answers of the narrower searches keep the wider one from looking at what cannot be better.
    const best = [() => false, (from: number) => from === 0, () => true].reduce<Label | undefined>(
      (found, mayTile) => fastest(target, spans, found?.nanoseconds ?? Infinity, mayTile) ?? found,
      undefined
    )
    if (best === undefined) return []
    const segments = segmentsOf(best)
    return [joined(segments, asked, search.estimate), segments]
  }
}

export const sft: Strategy = {
  order: poolBeforeRectifying,
  obeysMarks: true,
  kind: 'targeted',
  within: (search) => fastestWithin(search)
}
