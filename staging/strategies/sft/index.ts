import type { ModelScope } from '../../lowering/scope/scope'
import { createPool } from '../../lowering/ir/builder'
import { createModelScope } from '../../lowering/segment/create-scope'
import { createPasses, segmentPasses } from '../../lowering/tile/pass'
import { isCast } from '../../lowering/scope/parameters'
import { requestedCheckpoints } from '../../graph/directives'
import { accumulatesStatistics } from '../../graph/statistics'
import { fusibleTileAxes } from '../../graph/grid'
import { tilesMayLeaveOut } from '../../graph/unread'
import { hoistPoolAboveRelu } from '../../graph/order'
import { alignUp } from '../../placement/placement'
import type { Span } from '../../graph/span'
import { isSingleTensorBoundary, liveTensors } from '../../graph/boundary-tensors'
import { checkpointPositions, outputBytes } from '../find-segments'
import { lazy, memoizeByNumber, memoizePerObject } from '../../memoize'
import { joinSegments } from './join-segments'
import { insert, roundBytes, listSegments, type PathLabel } from './labels'
import { segmentsOf } from './grid-search'
import { leastTimes, type LeastTime, type Route } from './least-times'
import { leastKeptPath } from './least-kept-path'
import { leastWeights } from './least-weights'
import { memoizeBySpan } from '../memoize-by-span'
import { createOptionBytes, type Boundaries } from './option-bytes'
import { readBytesEstimator } from '../least-bytes'
import type { Search, Segmentation, SegmentationSearch, Strategy } from '../strategy'
import { createSegmentSearch } from './segment-search'

/**
 * Where backward ends: the first node whose output's gradient is wanted, -1 where the input's is,
 * one past the last where none is.
 */
const firstTrainable = ({ requiresGrad }: Pick<ModelScope, 'requiresGrad'>): number => {
  const tensor = requiresGrad.indexOf(true)
  return (tensor === -1 ? requiresGrad.length : tensor) - 1
}

/**
 * What is nearly as fast as can be is looked for first: where there is none, little is lost, and
 * else slower ways are never looked at.
 */
const timesOfLeast = [1, 1.005, 1.01, 1.02, 1.035, 1.06, 1.1, 1.15, 1.22, 1.3, 1.4, 1.6, 2, 2.5, Infinity]

/** Where nothing takes so many times as much, it is worth asking whether anything fits at all. */
const likelyTimes = 1.6
/** As much, where a target is for each segment by itself, for which that is soon known. */
const likelyTimesAlone = 1.06

/** What takes so many times as much is not first looked for without what is known to fit. */
const nearRatio = 1.1
/** Sums are not exact. */
const rounding = 1e-9

/** Blocks between statistics that are computed again as one, at most. */
const maxBlocks = 8

/**
 * Segmented fused-tiled execution (Xu 2022). Checkpoints stand where Listing 3 may put them for any
 * capacity up to the target; for each segment the tile counts are searched; a shortest path over
 * (position, bytes resident) picks the checkpoints and grids of least predicted time. `checkpoint`
 * and `tile` in the model are obeyed. Where what is kept waits on the host, the target is for each
 * segment by itself; the tensors `onHost` are there throughout, but for bands of rows, and a byte
 * that is kept adds `price` nanoseconds to a segment's time. None where all take more than
 * `slowest`, with that.
 */
export const fastestWithin = (search: Search, onHost?: ReadonlySet<number>, price = 0): SegmentationSearch => {
  const { graph, device, persistentBytes } = search
  const scope = createModelScope(graph, device, createPool())
  const sizes = outputBytes(scope)
  const end = graph.nodes.length
  /** Whether what is kept is limited here: not what waits on the host. */
  const holdsKept = onHost === undefined
  const asked = requestedCheckpoints(graph)
  const tensorBytes = (tensor: number): number => (onHost?.has(tensor) === true ? 0 : alignUp(sizes[tensor - 1]!))
  const hasGradient = (tensor: number): boolean => scope.requiresGrad[tensor]!
  const reorders = ({ from, to }: Span): boolean =>
    scope.parameters
      .slice(from, to)
      .some((both) => both?.weight !== undefined && (both.weight.layout !== both.weight.backwardLayout || isCast(scope, both.weight)))
  const statistics = new Set(graph.nodes.flatMap((node, position) => (accumulatesStatistics(node) ? [position] : [])))
  const { joinOf } = createPasses(scope, { from: 0, to: end })('keep')
  const positionsWithin = (target: number): readonly number[] => [0, ...checkpointPositions(graph, sizes, target, onHost), end]
  const boundaries: Boundaries = {
    tensorBytes,
    hasGradient,
    onHost,
    firstTrainable: firstTrainable(scope),
    reorders,
    leastWeights: leastWeights(scope),
    readBytes: readBytesEstimator(scope),
    isJoined: (tensor) => joinOf(tensor) !== undefined,
    runsAgain: (span) => segmentPasses(scope, { ...span, recompute: true }, onHost ?? new Set())('recompute').runs
  }
  const bytes = createOptionBytes(search, boundaries)
  /** What a segment adds and keeps at least. */
  const floorOf = memoizeBySpan(end, (span) => {
    const keptBytes = bytes.outputs(span) - bytes.freed(span)
    const isWhole = fusibleTileAxes(graph, span).length === 0 && !bytes.isFrozen(span) && !segments.mayRematerialize(span)
    return { addedBytes: Math.max(bytes.ends(span), isWhole ? bytes.whole(span) : 0), keptBytes: () => keptBytes }
  })
  const segments = createSegmentSearch(search, positionsWithin(Infinity), boundaries, bytes)

  /**
   * The label of least time at the end that takes no more than `limit`, some of its options perhaps
   * by what they take at least; tiled are only segments that start where `mayTile` says.
   */
  const fastestByBounds = (
    target: number,
    own: number,
    route: Route,
    least: LeastTime,
    limit: number,
    mayTile: (from: number) => boolean
  ): PathLabel | undefined => {
    const labels = new Map(route.positions.map((position): [number, PathLabel[]] => [position, []]))
    insert(labels.get(0)!, 0, 0, undefined, undefined)
    for (const from of route.positions)
      for (const to of route.from(from)) {
        const { aboutNanoseconds, leastNanoseconds, leastKeptBytes, within } = segments.optionsOf({ from, to })
        const priceOf = (keptBytes: number): number => (to === end ? 0 : price * keptBytes)
        const [tiles, after, leastAfter] = [mayTile(from), labels.get(to)!, least(to)]
        for (const before of labels.get(from)!) {
          const slack = limit - before.nanoseconds - leastAfter(before.savedBytes + leastKeptBytes) - priceOf(leastKeptBytes)
          if (slack < 0 || aboutNanoseconds() > slack) continue
          const available = Math.min(own, target - before.savedBytes) - persistentBytes
          if (leastNanoseconds(available) > slack) continue
          for (const option of within(available, tiles ? slack : -Infinity)) {
            // What runs forward again for others may wait on the host instead.
            if (option.rematerialized !== undefined && own < Infinity) continue
            const keptBytes = option.keptBytes()
            const savedBytes = holdsKept ? roundBytes(before.savedBytes + keptBytes) : 0
            const sum = before.nanoseconds + option.nanoseconds() + priceOf(keptBytes)
            if (sum + leastAfter(savedBytes) <= limit) insert(after, savedBytes, sum, option, before)
          }
        }
      }
    return labels.get(end)!.at(-1)
  }
  /**
   * As that, exactly: each pass settles an option more at least, and bounds only flatter, so a path
   * that takes what it seemed to is the best.
   */
  const fastest: typeof fastestByBounds = (target, own, ...limits) => {
    for (;;) {
      const label = fastestByBounds(target, own, ...limits)
      let isExact = true
      for (let last = label; last?.option !== undefined; last = last.before) {
        const { option, before } = last
        if (option.settle === undefined) continue
        const exact = option.settle()
        isExact &&=
          exact !== undefined &&
          exact.addedBytes() <= Math.min(own, target - before!.savedBytes) - persistentBytes &&
          exact.keptBytes() <= option.keptBytes() &&
          exact.nanoseconds() <= option.nanoseconds()
      }
      if (isExact) return label
    }
  }

  const routeWithin = memoizeByNumber((target: number): Route => {
    const positions = positionsWithin(target)
    const from = memoizeByNumber((start: number): readonly number[] => {
      const after = positions.filter((position) => position > start && !asked.some((at) => start < at && at < position))
      const barrier = after.find((position) => statistics.has(position)) ?? end
      const cuts = isSingleTensorBoundary(graph, start)
        ? after.filter((position) => isSingleTensorBoundary(graph, position)).slice(0, maxBlocks)
        : []
      // Tiles end where statistics are taken; beyond that only whole blocks are computed again.
      return after.filter((position) => position <= barrier || cuts.includes(position))
    })
    return { positions, from, optionsOf: (start, to) => segments.optionsOf({ from: start, to }) }
  })
  const leastWithin = memoizeByNumber((target: number): LeastTime => {
    const route = routeWithin(target)
    const room = target - persistentBytes
    const standing = (position: number): number => liveTensors(graph, position).reduce((sum, tensor) => sum + tensorBytes(tensor), 0)
    return leastTimes(route, { bytes: room, from: (position) => (holdsKept ? room - standing(position) : room), holdsKept, price })
  })
  const leavesOut = lazy(() => tilesMayLeaveOut(graph))
  /** What was found, or that nothing is faster than that, by targets. */
  const known: { readonly target: number; readonly own: number; readonly nanoseconds: number; readonly isFound: boolean }[] = []

  const keptOf = (from: number, to: number): number => (holdsKept ? floorOf({ from, to }).keptBytes() : 0)
  /** Whether there is a way by what segments need at least, for which nothing need be lowered. */
  const mayFit = (target: number, route: Route): boolean =>
    !holdsKept ||
    leastKeptPath(route, keptOf, (from, to, keptBytes) => {
      const floor = floorOf({ from, to })
      return keptBytes + floor.addedBytes > target - persistentBytes ? undefined : floor
    }) !== undefined
  const leastKept = memoizeByNumber((target: number): Segmentation | undefined => {
    const route = routeWithin(target)
    if (!mayFit(target, route)) return undefined
    const room = target - persistentBytes
    const options = leastKeptPath(route, keptOf, (from, to, keptBytes) => {
      const option = segments.leastKept({ from, to })(room - keptBytes)
      return option && (holdsKept ? option : { ...option, keptBytes: () => 0 })
    })
    const found = options?.flatMap(segmentsOf)
    // Of ranks a segment has rows of its own, and joined ones others.
    return found && graph.shard === undefined ? joinSegments(found, asked, search.estimate) : found
  })
  const within: SegmentationSearch['within'] = (target, slowest = Infinity, own = Infinity) => {
    const route = routeWithin(target)
    if (!mayFit(target, route)) return []
    const least = leastWithin(target)
    // A smaller target never takes less time, unless finer tiles leave more out.
    const larger = leavesOut() ? [] : known.filter((one) => one.target >= target && one.own >= own)
    const nanoseconds = larger.reduce((most, one) => Math.max(most, one.nanoseconds), least(0)(0))
    const isRefuted = larger.some((one) => !one.isFound && one.nanoseconds >= slowest)
    if (nanoseconds > slowest || nanoseconds === Infinity || isRefuted) return []
    // What fits less fits this too: of many labels, one pass up to that is less than several.
    const enough = known
      .filter((one) => holdsKept && one.isFound && one.target <= target && one.own <= own)
      .reduce((fastest, one) => Math.min(fastest, one.nanoseconds), Infinity)
    const isLikely = lazy(() => leastKept(target) !== undefined)
    const mostUnasked = holdsKept || slowest < Infinity ? likelyTimes : likelyTimesAlone
    let best: PathLabel | undefined
    for (const times of timesOfLeast) {
      // As fast as for more nothing is, most likely, that takes time to find out.
      if (holdsKept && times === 1 && nanoseconds > least(0)(0)) continue
      if (times > mostUnasked && !isLikely()) break
      const isNear = nearRatio * times * nanoseconds >= enough
      const limit = Math.min(slowest, Math.max(times * nanoseconds, isNear ? (1 + rounding) * enough : 0))
      best = fastest(target, own, route, least, limit, () => true)
      if (best !== undefined || limit >= slowest) break
    }
    known.push({ target, own, nanoseconds: best?.nanoseconds ?? slowest, isFound: best !== undefined })
    if (best === undefined) return []
    const found = listSegments(best)
    return [joinSegments(found, asked, search.estimate), found]
  }
  return { within, leastKept }
}

/** Where what is kept stays on the device: what is found out for one strategy serves others. */
export const fastestKept = memoizePerObject(
  () => '',
  (search: Search) => fastestWithin(search)
)

/**
 * Segments in tiles along the batch and the image (Xu 2022), the fastest within a number of bytes.
 */
export const sft: Strategy = {
  order: hoistPoolAboveRelu,
  obeysDirectives: true,
  kind: 'targeted',
  within: (search) => fastestKept(search)
}
