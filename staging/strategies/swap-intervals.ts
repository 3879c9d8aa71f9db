import type { DeviceModel, LinkRates } from '../devices/device-model'
import type { Order } from '../graph/order'
import { lazy, memoizeByNumber, memoizePerObject } from '../memoize'
import type { SwappableTensor, Timeline } from '../lowering/cost/timeline'
import type { SwapSchedule } from '../plans/plan'
import { aboutNanoseconds } from './least-kept'
import { leastMovingNanoseconds, leastTransferNanoseconds, nanosecondsAt, type Returns } from './least-transfers'
import { ownBytesEstimator } from './own-bytes'
import type { PlanEstimate, ScheduledSegmentation, Search, Segmentation } from './strategy'
import { usedBytes } from './used-bytes'
import { withVariants } from './variants'

/**
 * An interval in which a tensor is on the host, as stages of the timeline, each from its beginning
 * on.
 */
export interface StageInterval {
  readonly tensor: SwappableTensor
  readonly swapOut: number
  /** Computing waits here for the end of the swap-out, and its bytes are another's. */
  readonly freed: number
  readonly swapIn: number
  /**
   * Not the tensor's first interval: since the one before, from `swapOut` on, the host still has
   * it, and nothing moves there.
   */
  readonly again?: true
}

/** An interval of which it is not yet decided when the bytes are needed. */
export type UnfreedInterval = Omit<StageInterval, 'freed'>

/** What is spread comes last: V8 is far slower the other way round, and there are a million. */
export const freedAt = (interval: UnfreedInterval, freed: number): StageInterval => ({ freed, ...interval })

/** In the order in which tensors are made, which is that of swap-outs that start together. */
const inCreationOrder = ({ tensors }: Timeline, intervals: readonly StageInterval[]): readonly StageInterval[] => {
  const places = new Map(tensors.map(({ name }, place) => [name, place]))
  return [...intervals].sort((a, b) => places.get(a.tensor.name)! - places.get(b.tensor.name)! || a.freed - b.freed)
}

/** Stays on the host as a plan writes them, by timepoints. */
export const createSwapSchedule = (timeline: Timeline, intervals: readonly StageInterval[]): SwapSchedule =>
  inCreationOrder(timeline, intervals).map(({ tensor: { name }, swapOut, freed, swapIn, again }) => {
    const timepoint = (stage: number): number => timeline.stages[stage]!.timepoint
    return { tensor: name, swapOut: timepoint(again === true ? freed : swapOut), freed: timepoint(freed), swapIn: timepoint(swapIn) }
  })

/** From one stage on to before another, so many bytes more, as changes by stage. */
const hold = (changes: Float64Array, from: number, to: number, bytes: number): void => {
  if (from >= to) return
  changes[from]! += bytes
  changes[to]! -= bytes
}

/** Bytes on the device in each stage; tensors that are in flight count. */
export const occupancy = ({ stages, tensors }: Timeline, intervals: readonly StageInterval[]): readonly number[] => {
  const changes = new Float64Array(stages.length + 1)
  for (const { from, to, bytes } of tensors) hold(changes, from, to + 1, bytes)
  for (const { tensor, freed, swapIn } of intervals) hold(changes, freed, swapIn, -tensor.bytes)
  let held = 0
  return stages.map(({ bytes }, stage) => bytes + (held += changes[stage]!))
}

/** What is on the device where nothing waits on the host. */
const occupancyOfAll = memoizePerObject(
  () => 0,
  (timeline: Timeline) => occupancy(timeline, [])
)

/** The most bytes on the device in any stage. */
export const peakOccupancy = (timeline: Timeline, intervals: readonly StageInterval[]): number =>
  Math.max(...occupancy(timeline, intervals))

/** Stays by one of their stages. */
const byStage = <S>(intervals: readonly S[], stageOf: (interval: S) => number): ((stage: number) => readonly S[]) => {
  const lists = new Map<number, S[]>()
  for (const interval of intervals) {
    const stage = stageOf(interval)
    const list = lists.get(stage)
    if (list === undefined) lists.set(stage, [interval])
    else list.push(interval)
  }
  return (stage) => lists.get(stage) ?? []
}

/**
 * No-wait schedules (Beaumont 2020, Proposition 1) in their forward half: computing waits for a
 * swap-out, the oldest first, only where more than `target` bytes would be live. A tensor whose
 * bytes are never needed stays where it is.
 */
export const freeWhenNeeded = (timeline: Timeline, open: readonly UnfreedInterval[], target: number): readonly StageInterval[] => {
  const live = occupancyOfAll(timeline)
  const leaving = byStage([...open.keys()], (place) => Math.max(open[place]!.swapOut, open[place]!.tensor.forward + 1))
  const back = new Float64Array(live.length + 1)
  const intervals: StageInterval[] = []
  const inFlight = new Uint8Array(open.length)
  /** No place before this one is in flight. */
  let oldest = open.length
  let away = 0
  live.forEach((bytes, stage) => {
    away -= back[stage]!
    for (const place of leaving(stage)) {
      inFlight[place] = 1
      oldest = Math.min(oldest, place)
    }
    while (bytes - away > target) {
      // What comes back by now is never in flight again.
      while (oldest < open.length && (inFlight[oldest] === 0 || open[oldest]!.swapIn <= stage)) oldest++
      if (oldest === open.length) break
      inFlight[oldest] = 0
      const interval = open[oldest]!
      away += interval.tensor.bytes
      back[interval.swapIn]! += interval.tensor.bytes
      intervals.push(freedAt(interval, stage))
    }
  })
  return intervals
}

/**
 * The backward half: each swap-in, in the order in which backward reads, starts as early as
 * `target` bytes allow.
 */
const fetchEarly = (timeline: Timeline, intervals: readonly StageInterval[], target: number): readonly StageInterval[] => {
  const live = [...occupancy(timeline, intervals)]
  let earliest = 0
  return [...intervals]
    .sort((a, b) => a.tensor.backward - b.tensor.backward)
    .map((interval) => {
      const { tensor, swapOut, freed } = interval
      let swapIn = interval.swapIn
      while (swapIn > Math.max(freed + 1, earliest) && live[swapIn - 1]! + tensor.bytes <= target) swapIn--
      for (let stage = swapIn; stage < interval.swapIn; stage++) live[stage]! += tensor.bytes
      earliest = swapIn
      return { tensor, swapOut, freed, swapIn }
    })
}

/**
 * The whole no-wait schedule that offloads these tensors: out as soon as they are made, in as early
 * as there is room.
 */
export const noWait = (timeline: Timeline, tensors: readonly SwappableTensor[], target: number): readonly StageInterval[] => {
  const open = tensors
    .filter(({ forward, backward }) => forward + 1 < backward)
    .map((tensor) => ({ tensor, swapOut: tensor.written + 1, swapIn: tensor.backward }))
  return fetchEarly(timeline, freeWhenNeeded(timeline, open, target), target)
}

/**
 * Nanoseconds of a step with its transfers: three engines, each in order, as the simulator has
 * them, stage by stage. What copies take from computing (see DeviceModel) is owed until computing
 * waits; where a stage waits inside too, a step may take more than this.
 */
export const estimateNanoseconds = (
  timeline: Timeline,
  intervals: readonly StageInterval[],
  { linkBytesPerSecond: link, copyBytesPerSecond: copies }: Pick<DeviceModel, 'linkBytesPerSecond' | 'copyBytesPerSecond'>
): number => {
  let [compute, out, back, owed] = [0, 0, 0, 0]
  const left = new Map<StageInterval, number>()
  const arrived = new Map<StageInterval, number>()
  const inBackward = [...intervals].sort(
    ({ tensor: a }, { tensor: b }) => a.backward - b.backward || a.nanosecondsBefore - b.nanosecondsBefore
  )
  const moved = intervals.filter(({ again }) => again !== true)
  const leaving = byStage(inCreationOrder(timeline, moved), ({ swapOut }) => swapOut)
  const freed = byStage(moved, (interval) => interval.freed)
  const entering = byStage(inBackward, ({ swapIn }) => swapIn)
  const wanted = byStage(inBackward, ({ tensor }) => tensor.backward)
  const transfer = ({ tensor: { movedBytes } }: StageInterval, direction: keyof LinkRates): number => {
    if (copies !== undefined) owed += Math.round(nanosecondsAt(movedBytes, copies[direction]))
    return Math.round(nanosecondsAt(movedBytes, link[direction]))
  }
  const waitFor = (event: number): void => {
    compute = Math.max(compute + owed, event)
    owed = 0
  }
  timeline.stages.forEach(({ nanoseconds, busyNanoseconds }, stage) => {
    for (const interval of leaving(stage)) left.set(interval, (out = Math.max(out, compute) + transfer(interval, 'toHost')))
    for (const interval of freed(stage)) waitFor(left.get(interval)!)
    for (const interval of entering(stage)) arrived.set(interval, (back = Math.max(back, compute) + transfer(interval, 'toDevice')))
    const begin = compute
    let done = 0
    for (const interval of wanted(stage)) {
      const { nanosecondsBefore } = interval.tensor
      compute += nanosecondsBefore - done
      waitFor(arrived.get(interval)!)
      done = nanosecondsBefore
    }
    compute += nanoseconds - done
    if (busyNanoseconds > nanoseconds) waitFor(begin + busyNanoseconds)
  })
  return Math.max(compute + owed, out, back)
}

/**
 * The most bytes that live at once on the device, and on the host, where a tensor is until it is
 * back, somewhere in its last stage there.
 */
const liveBytes = ({ stages }: Timeline, intervals: readonly StageInterval[]): { readonly device: number; readonly host: number } => {
  const [onDevice, onHost, throughout] = [0, 1, 2].map(() => new Float64Array(stages.length + 1))
  for (const { tensor, swapOut, freed, swapIn, again } of intervals) {
    // Nothing keeps what the host has up to the end of the stage that read it last.
    hold(onDevice!, again === true ? freed - 1 : freed, swapIn, tensor.bytes)
    hold(onHost!, swapOut, tensor.backward + 1, tensor.bytes)
    hold(throughout!, swapOut, tensor.backward, tensor.bytes)
  }
  let [away, there, thereThroughout, device, host] = [0, 0, 0, 0, 0]
  stages.forEach((stage, index) => {
    device = Math.max(device, stage.liveBytes - (away += onDevice![index]!))
    host = Math.max(host, (there += onHost![index]!), stage.hostBytes + (thereThroughout += throughout![index]!))
  })
  return { device, host }
}

/** Made when asked for: of thousands a few are looked at more than once. */
export type LazySwapSchedule = () => readonly StageInterval[]

type SchedulesOf = (timeline: Timeline) => readonly LazySwapSchedule[]

const none: ReadonlySet<number> = new Set()

/**
 * A segmentation with what waits on the host by each schedule, from which it returns as said; the
 * tensors `onHost` are there throughout, but for bands of rows.
 */
export const withSchedules = (
  search: Search,
  segments: Segmentation,
  schedulesOf: SchedulesOf,
  onHost: ReadonlySet<number> = none,
  returns: Returns = 'once'
): ScheduledSegmentation => {
  const { order, device, timeline } = search
  const seen = lazy(() => timeline(segments))
  const least = lazy(() => leastTransferNanoseconds(seen(), device, returns))
  const ownBytes = lazy(() => ownBytesEstimator(search)(segments, onHost))
  return {
    aboutNanoseconds: aboutNanoseconds(search, segments, onHost),
    leastNanoseconds: memoizeByNumber((deviceBytes) => (ownBytes() > deviceBytes ? Infinity : least()(deviceBytes))),
    estimates: lazy(() => makeEstimates(order, segments, seen(), schedulesOf, device))
  }
}

const makeEstimates = (
  order: Order,
  segments: Segmentation,
  seen: Timeline,
  schedulesOf: SchedulesOf,
  device: DeviceModel
): readonly PlanEstimate[] => {
  const { refusedKernel } = seen
  // Whatever waits on the host, the kernel is refused.
  const schedules = refusedKernel === undefined ? schedulesOf(seen) : [() => []]
  const leastOf = leastMovingNanoseconds(seen, device)
  return schedules.map((schedule): PlanEstimate => {
    const intervals = schedule()
    const live = liveBytes(seen, intervals)
    const moved = (some: readonly StageInterval[]): number => some.reduce((sum, { tensor }) => sum + tensor.movedBytes, 0)
    return {
      plan: () => ({ order, segments, swapSchedule: createSwapSchedule(seen, schedule()) }),
      deviceBytes: live.device,
      hostBytes: live.host,
      refusedKernel,
      leastNanoseconds: leastOf(intervals.length, moved(intervals.filter(({ again }) => again !== true)), moved(intervals)),
      nanoseconds: lazy(() => estimateNanoseconds(seen, schedule(), device))
    }
  })
}

/** Swap schedules for each variant of a segmentation. */
export const withSwapIntervals = (
  search: Search,
  segmentation: Segmentation,
  schedulesOf: SchedulesOf,
  returns: Returns = 'once'
): readonly ScheduledSegmentation[] =>
  withVariants(search.variants, segmentation).map((segments) => withSchedules(search, segments, schedulesOf, none, returns))

/**
 * Numbers of bytes from the fewest that a step can do with, when all that it does not use is on the
 * host, to all that it keeps.
 */
export const targets = (timeline: Timeline, count: number): readonly number[] => {
  const all = occupancy(timeline, [])
  const [low, high] = [Math.max(...usedBytes(timeline)), Math.max(...all)]
  // None at all: everything leaves as soon, and comes back as late, as can be.
  return [0, ...Array.from({ length: count }, (_, index) => low + ((high - low) * index) / (count - 1))]
}
