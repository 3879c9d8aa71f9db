import type { DeviceModel } from '../devices/device-model'
import { lazy } from '../memoize'
import type { SwappableTensor, Timeline } from '../lowering/cost/timeline'
import type { SwapSchedule } from '../plans/plan'
import type { PlanEstimate, Search, Segmentation } from './strategy'
import { withVariants } from './variants'

/** A tensor's stay on the host; stages of the timeline, each from its beginning on. */
export interface StageInterval {
  readonly tensor: SwappableTensor
  readonly swapOut: number
  /** Computing waits here for the end of the swap-out, and its bytes are another's. */
  readonly freed: number
  readonly swapIn: number
  /**
   * Not the tensor's first stay: since the one before, from `swapOut` on, the host still has it,
   * and nothing moves there.
   */
  readonly again?: true
}

/** A stay of which it is not yet decided when the bytes are needed. */
export type UnfreedInterval = Omit<StageInterval, 'freed'>

/** In the order in which tensors are made, which is that of swap-outs that start together. */
const inCreationOrder = ({ tensors }: Timeline, stays: readonly StageInterval[]): readonly StageInterval[] => {
  const places = new Map(tensors.map(({ name }, place) => [name, place]))
  return [...stays].sort((a, b) => places.get(a.tensor.name)! - places.get(b.tensor.name)! || a.freed - b.freed)
}

/** Stays on the host as a plan writes them, by timepoints. */
export const createSwapSchedule = (timeline: Timeline, stays: readonly StageInterval[]): SwapSchedule =>
  inCreationOrder(timeline, stays).map(({ tensor: { name }, swapOut, freed, swapIn, again }) => {
    const timepoint = (stage: number): number => timeline.stages[stage]!.timepoint
    return { tensor: name, swapOut: timepoint(again === true ? freed : swapOut), freed: timepoint(freed), swapIn: timepoint(swapIn) }
  })

/** From one stage on to before another, so many bytes more. */
type Hold = (from: number, to: number, bytes: number) => void

/** What lives in each stage: these bytes, and all that is held. */
const living = (bytes: readonly number[], holdAll: (hold: Hold) => void): number[] => {
  const change = new Float64Array(bytes.length + 1)
  holdAll((from, to, held) => {
    if (from >= to) return
    change[from]! += held
    change[to]! -= held
  })
  let sum = 0
  return bytes.map((beside, stage) => beside + (sum += change[stage]!))
}

/** Bytes on the device in each stage; tensors that are in flight count. */
export const occupancy = ({ stages, tensors }: Timeline, stays: readonly StageInterval[]): readonly number[] =>
  living(
    stages.map(({ bytes }) => bytes),
    (hold) => {
      for (const { from, to, bytes } of tensors) hold(from, to + 1, bytes)
      for (const { tensor, freed, swapIn } of stays) hold(freed, swapIn, -tensor.bytes)
    }
  )

/** The most bytes on the device in any stage. */
export const peakOf = (timeline: Timeline, stays: readonly StageInterval[]): number => Math.max(...occupancy(timeline, stays))

/** Stays by one of their stages. */
const byStage = <S extends UnfreedInterval>(stays: readonly S[], stageOf: (stay: S) => number): ((stage: number) => readonly S[]) => {
  const lists = new Map<number, S[]>()
  for (const stay of stays) {
    const stage = stageOf(stay)
    const list = lists.get(stage)
    if (list === undefined) lists.set(stage, [stay])
    else list.push(stay)
  }
  return (stage) => lists.get(stage) ?? []
}

/**
 * No-wait schedules (Beaumont 2020, Proposition 1) in their forward half: computing waits for a
 * swap-out, the oldest first, only where more than `target` bytes would be live. A tensor whose
 * bytes are never needed stays where it is.
 */
export const freeWhenNeeded = (timeline: Timeline, open: readonly UnfreedInterval[], target: number): readonly StageInterval[] => {
  const live = occupancy(timeline, [])
  const places = new Map(open.map((stay, place) => [stay, place]))
  const leaving = byStage(open, ({ tensor, swapOut }) => Math.max(swapOut, tensor.forward + 1))
  const back = new Float64Array(live.length + 1)
  const stays: StageInterval[] = []
  let inFlight: UnfreedInterval[] = []
  let away = 0
  live.forEach((bytes, stage) => {
    away -= back[stage]!
    const more = leaving(stage)
    if (more.length > 0)
      inFlight = [...inFlight.filter(({ swapIn }) => stage < swapIn), ...more].sort((a, b) => places.get(a)! - places.get(b)!)
    while (bytes - away > target) {
      const oldest = inFlight.findIndex(({ swapIn }) => stage < swapIn)
      if (oldest === -1) break
      const stay = inFlight.splice(oldest, 1)[0]!
      away += stay.tensor.bytes
      back[stay.swapIn]! += stay.tensor.bytes
      stays.push({ ...stay, freed: stage })
    }
  })
  return stays
}

/**
 * The backward half: each swap-in, in the order in which backward reads, starts as early as
 * `target` bytes allow.
 */
const fetchEarly = (timeline: Timeline, stays: readonly StageInterval[], target: number): readonly StageInterval[] => {
  const live = [...occupancy(timeline, stays)]
  let earliest = 0
  return [...stays]
    .sort((a, b) => a.tensor.backward - b.tensor.backward)
    .map((stay) => {
      const { tensor, freed } = stay
      let swapIn = stay.swapIn
      while (swapIn > Math.max(freed + 1, earliest) && live[swapIn - 1]! + tensor.bytes <= target) swapIn--
      for (let stage = swapIn; stage < stay.swapIn; stage++) live[stage]! += tensor.bytes
      earliest = swapIn
      return { ...stay, swapIn }
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
 * them, stage by stage.
 */
export const estimatedNanoseconds = (
  timeline: Timeline,
  stays: readonly StageInterval[],
  { toDevice, toHost }: DeviceModel['linkBytesPerSecond']
): number => {
  let [compute, out, back] = [0, 0, 0]
  const left = new Map<StageInterval, number>()
  const arrived = new Map<StageInterval, number>()
  const inBackward = [...stays].sort(({ tensor: a }, { tensor: b }) => a.backward - b.backward || a.nanosecondsBefore - b.nanosecondsBefore)
  const moved = stays.filter(({ again }) => again !== true)
  const leaving = byStage(inCreationOrder(timeline, moved), ({ swapOut }) => swapOut)
  const freed = byStage(moved, (stay) => stay.freed)
  const entering = byStage(inBackward, ({ swapIn }) => swapIn)
  const wanted = byStage(inBackward, ({ tensor }) => tensor.backward)
  const transfer = ({ tensor: { movedBytes } }: StageInterval, rate: number): number => Math.round((1e9 * movedBytes) / rate)
  timeline.stages.forEach(({ nanoseconds, busyNanoseconds }, stage) => {
    for (const stay of leaving(stage)) left.set(stay, (out = Math.max(out, compute) + transfer(stay, toHost)))
    for (const stay of freed(stage)) compute = Math.max(compute, left.get(stay)!)
    for (const stay of entering(stage)) arrived.set(stay, (back = Math.max(back, compute) + transfer(stay, toDevice)))
    const begin = compute
    let done = 0
    for (const stay of wanted(stage)) {
      const { nanosecondsBefore } = stay.tensor
      compute = Math.max(compute + nanosecondsBefore - done, arrived.get(stay)!)
      done = nanosecondsBefore
    }
    compute = Math.max(compute + nanoseconds - done, begin + busyNanoseconds)
  })
  return Math.max(compute, out, back)
}

/**
 * The most bytes that live at once on the device, and on the host, where a tensor is until it is
 * back, somewhere in its last stage there.
 */
const liveBytes = ({ stages }: Timeline, stays: readonly StageInterval[]): { readonly device: number; readonly host: number } => {
  const most = (bytes: readonly number[], holdAll: (stay: StageInterval, hold: Hold) => void): number =>
    Math.max(...living(bytes, (hold) => stays.forEach((stay) => holdAll(stay, hold))))
  const device = most(
    stages.map((stage) => stage.liveBytes),
    // Nothing keeps what the host has up to the end of the stage that read it last.
    ({ tensor, freed, swapIn, again }, hold) => hold(again === true ? freed - 1 : freed, swapIn, -tensor.bytes)
  )
  const host = most(
    stages.map(() => 0),
    ({ tensor, swapOut }, hold) => hold(swapOut, tensor.backward + 1, tensor.bytes)
  )
  const hostThroughout = most(
    stages.map((stage) => stage.hostBytes),
    ({ tensor, swapOut }, hold) => hold(swapOut, tensor.backward, tensor.bytes)
  )
  return { device, host: Math.max(host, hostThroughout) }
}

/** Made when asked for: of thousands a few are looked at more than once. */
export type Schedule = () => readonly StageInterval[]

type SchedulesOf = (timeline: Timeline) => readonly Schedule[]

/** A segmentation with what waits on the host by each schedule. */
export const withSchedules = (
  { order, device, timeline }: Search,
  segments: Segmentation,
  schedulesOf: SchedulesOf
): readonly PlanEstimate[] => {
  const seen = timeline(segments)
  const { refusedKernel } = seen
  // Whatever waits on the host, the kernel is refused.
  const schedules = refusedKernel === undefined ? schedulesOf(seen) : [() => []]
  return schedules.map((stays): PlanEstimate => {
    const live = liveBytes(seen, stays())
    return {
      plan: () => ({ order, segments, swapSchedule: createSwapSchedule(seen, stays()) }),
      deviceBytes: live.device,
      hostBytes: live.host,
      refusedKernel,
      nanoseconds: lazy(() => estimatedNanoseconds(seen, stays(), device.linkBytesPerSecond))
    }
  })
}

/** Swap schedules for each variant of a segmentation. */
export const withSwapIntervals = (search: Search, segmentation: Segmentation, schedulesOf: SchedulesOf): readonly PlanEstimate[] =>
  withVariants(search.variants, segmentation).flatMap((segments) => withSchedules(search, segments, schedulesOf))

/**
 * Numbers of bytes from the fewest that a step can do with, when all that it does not use is on the
 * host, to all that it keeps.
 */
export const targets = (timeline: Timeline, count: number): readonly number[] => {
  const all = occupancy(timeline, [])
  const least = timeline.stages.map(
    ({ bytes }, stage) =>
      bytes +
      timeline.tensors.reduce(
        (sum, one) => ((one.from <= stage && stage <= one.forward) || (one.backward <= stage && stage <= one.to) ? sum + one.bytes : sum),
        0
      )
  )
  const [low, high] = [Math.max(...least), Math.max(...all)]
  // None at all: everything leaves as soon, and comes back as late, as can be.
  return [0, ...Array.from({ length: count }, (_, index) => low + ((high - low) * index) / (count - 1))]
}
