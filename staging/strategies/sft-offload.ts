import { overlapsCopies, type DeviceModel } from '../devices/device-model'
import type { Graph } from '../graph/graph'
import { createPool } from '../lowering/ir/builder'
import { createModelScope } from '../lowering/segment/create-scope'
import { requestedTiles } from '../graph/directives'
import { tilesMayLeaveOut } from '../graph/unread'
import { alignUp } from '../placement/placement'
import { lazy, memoize } from '../memoize'
import { hoistPoolAboveRelu } from '../graph/order'
import { outputBytes } from './find-segments'
import { keepOrMove } from './keep-or-move'
import { loadMargin, waitMargin } from './least-kept'
import { noWait, peakOccupancy, targets, withSchedules } from './swap-intervals'
import { wholeGraph } from './plain'
import { withRematerialization } from './rematerialize'
import { withVariants } from './variants'
import { fastestKept, fastestWithin } from './sft'
import type { PlanGroup, ScheduledSegmentation, Search, Segmentation, Strategy } from './strategy'

/**
 * Bytes for a segment, persistent tensors included, from little to much; the last are enough for
 * all in one.
 */
const segmentTargets = ({ persistentBytes, timeline }: Search, whole: Segmentation): readonly number[] => {
  const seen = timeline(whole)
  const most = Math.max(...seen.stages.map(({ bytes }) => bytes), persistentBytes + 1)
  const rests = Array.from({ length: targetCount }, (_, index) => most / targetRatio ** index)
  return [...rests.reverse(), Math.max(most, peakOccupancy(seen, []))].map((rest) => persistentBytes + rest)
}

/** Each target leaves so many times as much beside the persistent tensors as the one before. */
const targetRatio = 1.5
const targetCount = 14

/**
 * Larger tensors are on the host: of bytes for a segment, what its input, output and their
 * gradients may take each; rounded, as few differ.
 */
const maxOnDevice = (bytes: number): number => 2 ** Math.floor(Math.log2(bytes / 6))

/** Tensors of more than so many bytes that can pass in bands of rows; none that ranks share. */
const streamable = (graph: Graph, sizes: readonly number[], bytes: number): ReadonlySet<number> =>
  new Set(
    graph.shard !== undefined || requestedTiles(graph).length > 0
      ? []
      : graph.nodes.flatMap(({ access, output }, position) =>
          sizes[position]! > bytes && output[2] > 1 && access.H.kind !== 'reduce' ? [position + 1] : []
        )
  )

/** Numbers of bytes for which the transfers of one segmentation are scheduled. */
const scheduleCount = 12

/**
 * How much longer than planned for its segments by themselves, by loads that wait, and by bands
 * where they pass beside computing, a step that is fast enough may have been thought to take.
 */
const chooseMargin = (device: DeviceModel, onHost: ReadonlySet<number>): number =>
  onHost.size === 0 || !overlapsCopies(device) ? loadMargin(device) : waitMargin

/** By how much more a segmentation takes than the bytes with which it may still do. */
const bytesMargin = 1.02

/**
 * A segmentation of which more runs forward again than of another, for which it hardly ever needs
 * fewer bytes on the device: no timeline is made of it where the other does not nearly fit.
 */
const needingMore = (scheduled: ScheduledSegmentation, { leastNanoseconds }: ScheduledSegmentation): ScheduledSegmentation => ({
  ...scheduled,
  leastNanoseconds: (bytes) => (leastNanoseconds(bytesMargin * bytes) === Infinity ? Infinity : scheduled.leastNanoseconds(bytes))
})

/**
 * Where transfers take longer than computing, and take from it or from those of optimizer state:
 * bytes for a segment and what is kept beside it, over those for a segment by itself.
 */
const keptRatios = [1.15, 1.5, 2, 3]

/** Segments that keep less are tried where transfers take so many times as long as computing. */
const movingRatio = 1.05

/**
 * Where what passes in bands makes segments take so many times as long as computing whole would,
 * those are tried too for which a byte that moves is priced, within these shares of the bytes for
 * a segment: what moves waits in turn for what passes.
 */
const streamingRatio = 1.5
const pricedShares = [1, 0.5]

/** Nanoseconds in which a byte leaves and comes back. */
const movingNanoseconds = ({ linkBytesPerSecond: link, copyBytesPerSecond: copies }: DeviceModel): number =>
  [link, ...(copies === undefined ? [] : [copies])].reduce((sum, { toHost, toDevice }) => sum + 1e9 / toHost + 1e9 / toDevice, 0)

/** What is found by how slow it may be: what is known serves for all that is as fast or faster. */
const rememberUpTo = (find: (slowest: number) => readonly ScheduledSegmentation[]): PlanGroup['scheduled'] => {
  let known: { readonly slowest: number; readonly found: readonly ScheduledSegmentation[] } | undefined
  return (slowest) => {
    if (known === undefined || slowest > known.slowest) known = { slowest, found: find(slowest) }
    return known.found
  }
}

/** What was found for a target: nanoseconds of its segments, or none within so many. */
interface Tried {
  readonly target: number
  readonly leastNanoseconds: number
}

/**
 * sft without memory for what is kept from forward to backward: for each target the segments of
 * least time whose own tensors fit it. What stands between them waits on the host by ordered
 * no-wait schedules (Beaumont 2020, Proposition 1), so that tiles, recomputation and transfers are
 * decided together. Those that keep less are tried too, of which no more moves than passes beside
 * computing (`keepOrMove`), and those that move less, where what passes in bands takes longest.
 */
export const sftOffload: Strategy = {
  order: hoistPoolAboveRelu,
  obeysDirectives: true,
  kind: 'swapping',
  tiles: true,
  groups: (search, link) => {
    const { graph, device, estimate } = search
    /** Whether what is moved may pass beside computing and take nothing. */
    const hasFreeLink = link === 'alone' && device.copyBytesPerSecond === undefined
    const sizes = outputBytes(createModelScope(graph, device, createPool()))
    const leavesOut = tilesMayLeaveOut(graph)
    const tensorBytes = (tensor: number): number => alignUp(sizes[tensor - 1]!)
    const ownBytes = segmentTargets(search, wholeGraph(graph))
    const onHostFor = (bytes: number): ReadonlySet<number> => streamable(graph, sizes, maxOnDevice(bytes - search.persistentBytes))
    // One is a part of another: how many they are tells them apart.
    const sets = new Map([new Set<number>(), ...ownBytes.map(onHostFor)].map((onHost) => [onHost.size, onHost]))
    const scheduledOf = memoize(
      ([segments, onHost]: readonly [Segmentation, ReadonlySet<number>]) => JSON.stringify([segments, onHost.size]),
      ([segments, onHost]): ScheduledSegmentation =>
        withSchedules(
          search,
          segments,
          (seen) => targets(seen, scheduleCount).map((target) => () => noWait(seen, seen.tensors, target)),
          onHost
        )
    )
    /** Bytes that leave so many times as many as a target beside the persistent tensors. */
    const timesTarget = (ratio: number, target: number): number => search.persistentBytes + ratio * (target - search.persistentBytes)
    const sumNanoseconds = (segments: Segmentation, onHost?: ReadonlySet<number>): number =>
      segments.reduce((sum, segment) => sum + estimate(segment, onHost)!.nanoseconds(), 0)
    /** Segments of least time that keep less: not all that the fastest keep can pass meanwhile. */
    const keepingLess = (target: number, limit: number): readonly Segmentation[] =>
      keptRatios.flatMap((ratio) => fastestKept(search).within(timesTarget(ratio, target), limit, target).slice(0, 1))
    const computing = lazy(() => sumNanoseconds(withVariants(search.variants, wholeGraph(graph))[0]!))
    const withAllMoved = [...sets.values()].flatMap((onHost) => {
      const { within: segmentsWithin } = fastestWithin(search, onHost)
      const priced = lazy(() => fastestWithin(search, onHost, movingNanoseconds(device)))
      /** Segments that move less beside what passes in bands. */
      const movingLess = (target: number): readonly Segmentation[] =>
        pricedShares.flatMap((share) => priced().within(timesTarget(share, target)).slice(0, 1))
      const nanosecondsOf = (segments: Segmentation): number => sumNanoseconds(segments, onHost)
      const tried: Tried[] = []
      return ownBytes
        .filter((bytes) => onHost.size <= onHostFor(bytes).size)
        .map((target): PlanGroup => ({
          target,
          scheduled: rememberUpTo((slowest) => {
            const limit = chooseMargin(device, onHost) * slowest
            // A smaller target takes no less time, unless finer bands leave more out.
            if (!leavesOut && tried.some((one) => one.target >= target && one.leastNanoseconds >= limit)) return []
            const found = segmentsWithin(target, limit)
            const [fastest] = found
            const leastNanoseconds = fastest === undefined ? limit : nanosecondsOf(fastest)
            tried.push({ target, leastNanoseconds })
            const isLimited = (segments: Segmentation): boolean => limit === Infinity || nanosecondsOf(segments) <= limit
            const isMoving =
              !hasFreeLink &&
              fastest !== undefined &&
              onHost.size === 0 &&
              scheduledOf([fastest, onHost]).aboutNanoseconds(target) > movingRatio * leastNanoseconds
            const isStreaming = fastest !== undefined && onHost.size > 0 && leastNanoseconds > streamingRatio * computing()
            const less = isMoving ? keepingLess(target, limit) : isStreaming ? movingLess(target).filter(isLimited) : []
            const moving = found.filter(isLimited).flatMap((segments) => {
              const scheduled = scheduledOf([segments, onHost])
              const again = withRematerialization(search, segments, tensorBytes, onHost).filter(isLimited)
              return [scheduled, ...again.map((repeating) => needingMore(scheduledOf([repeating, onHost]), scheduled))]
            })
            return [...moving, ...less.map((segments) => scheduledOf([segments, onHost]))]
          })
        }))
    })
    return hasFreeLink ? [...keepOrMove(search, (segments) => scheduledOf([segments, new Set()])), ...withAllMoved] : withAllMoved
  }
}
