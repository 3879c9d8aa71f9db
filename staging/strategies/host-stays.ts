import type { DeviceModel } from '../device-model'
import type { SwappableTensor, Timeline } from '../lowering/timeline'
import type { Residence } from '../plan'
import type { Decisions, Search, Segmentation } from './strategy'
import { withVariants } from './variants'

/** A tensor's stay on the host; stages of the timeline, each from its beginning on. */
export interface Stay {
  readonly tensor: SwappableTensor
  readonly swapOut: number
  /** Computing waits here for the end of the swap-out, and its bytes are another's. */
  readonly freed: number
  readonly swapIn: number
}

/** A stay of which it is not yet decided when the bytes are needed. */
export type OpenStay = Omit<Stay, 'freed'>

/** In the order in which tensors are made, which is that of swap-outs that start together. */
const asMade = ({ tensors }: Timeline, stays: readonly Stay[]): readonly Stay[] =>
  tensors.flatMap((tensor) => stays.find((stay) => stay.tensor === tensor) ?? [])

export const residenceOf = (timeline: Timeline, stays: readonly Stay[]): Residence =>
  asMade(timeline, stays).map(({ tensor: { name }, swapOut, freed, swapIn }) => {
    const moment = (stage: number): number => timeline.stages[stage]!.moment
    return { tensor: name, swapOut: moment(swapOut), freed: moment(freed), swapIn: moment(swapIn) }
  })

const addTo = (live: number[], from: number, to: number, bytes: number): void => {
  for (let stage = from; stage < to; stage++) live[stage]! += bytes
}

/** Bytes on the device in each stage; tensors that are in flight count. */
export const occupancy = ({ stages, tensors }: Timeline, stays: readonly Stay[]): readonly number[] => {
  const live = stages.map(({ bytes }) => bytes)
  for (const { from, to, bytes } of tensors) addTo(live, from, to + 1, bytes)
  for (const { tensor, freed, swapIn } of stays) addTo(live, freed, swapIn, -tensor.bytes)
  return live
}

export const peakOf = (timeline: Timeline, stays: readonly Stay[]): number => Math.max(...occupancy(timeline, stays))

/**
 * No-wait schedules (paper 004, Proposition 1) in their forward half: computing waits for a swap-out, the oldest first, only where
 * more than `target` bytes would be live. A tensor whose bytes are never needed stays where it is.
 */
export const freedWhenNeeded = (timeline: Timeline, open: readonly OpenStay[], target: number): readonly Stay[] => {
  const live = [...occupancy(timeline, [])]
  const stays: Stay[] = []
  let inFlight = [...open]
  for (let stage = 0; stage < live.length; stage++)
    while (live[stage]! > target) {
      const oldest = inFlight.find(({ tensor, swapOut, swapIn }) => swapOut <= stage && tensor.forward < stage && stage < swapIn)
      if (oldest === undefined) break
      inFlight = inFlight.filter((one) => one !== oldest)
      addTo(live, stage, oldest.swapIn, -oldest.tensor.bytes)
      stays.push({ ...oldest, freed: stage })
    }
  return stays
}

/** The backward half: each swap-in, in the order in which backward reads, starts as early as `target` bytes allow. */
export const fetchedEarly = (timeline: Timeline, stays: readonly Stay[], target: number): readonly Stay[] => {
  const live = [...occupancy(timeline, stays)]
  let earliest = 0
  return [...stays]
    .sort((a, b) => a.tensor.backward - b.tensor.backward)
    .map((stay) => {
      const { tensor, freed } = stay
      let swapIn = stay.swapIn
      while (swapIn > Math.max(freed + 1, earliest) && live[swapIn - 1]! + tensor.bytes <= target) swapIn--
      addTo(live, swapIn, stay.swapIn, tensor.bytes)
      earliest = swapIn
      return { ...stay, swapIn }
    })
}

/** The whole no-wait schedule that offloads these tensors: out as soon as they are made, in as early as there is room. */
export const noWait = (timeline: Timeline, tensors: readonly SwappableTensor[], target: number): readonly Stay[] => {
  const open = tensors
    .filter(({ forward, backward }) => forward + 1 < backward)
    .map((tensor) => ({ tensor, swapOut: tensor.written + 1, swapIn: tensor.backward }))
  return fetchedEarly(timeline, freedWhenNeeded(timeline, open, target), target)
}

/** Nanoseconds of a step with its transfers: three engines, each in order, as the simulator has them, stage by stage. */
export const estimatedNanoseconds = (
  timeline: Timeline,
  stays: readonly Stay[],
  { toDevice, toHost }: DeviceModel['linkBytesPerSecond']
): number => {
  let [compute, out, back] = [0, 0, 0]
  const left = new Map<Stay, number>()
  const arrived = new Map<Stay, number>()
  const [leaving, entering] = [asMade(timeline, stays), [...stays].sort((a, b) => a.tensor.backward - b.tensor.backward)]
  timeline.stages.forEach(({ nanoseconds }, stage) => {
    for (const stay of leaving)
      if (stay.swapOut === stage) left.set(stay, (out = Math.max(out, compute) + (1e9 * stay.tensor.bytes) / toHost))
    for (const stay of stays) if (stay.freed === stage) compute = Math.max(compute, left.get(stay)!)
    for (const stay of entering)
      if (stay.swapIn === stage) arrived.set(stay, (back = Math.max(back, compute) + (1e9 * stay.tensor.bytes) / toDevice))
    for (const stay of stays) if (stay.tensor.backward === stage) compute = Math.max(compute, arrived.get(stay)!)
    compute += nanoseconds
  })
  return Math.max(compute, out, back)
}

/** What takes up to this much less on the host alone is not worth lowering; of bytes on the device the same. */
const hostSlack = 1.1
const deviceSlack = 1.005

/**
 * Of many schedules those that are worth lowering: none needs less time, fewer bytes on the device and fewer on the host. A slower one is
 * only placed where it would win if nothing were lost between buffers.
 */
const worthLowering = (
  timeline: Timeline,
  link: DeviceModel['linkBytesPerSecond'],
  schedules: readonly (readonly Stay[])[]
): readonly Residence[] => {
  const rated = schedules.map((stays) => ({
    stays,
    device: peakOf(timeline, stays),
    host: stays.reduce((sum, { tensor }) => sum + tensor.bytes, 0),
    nanoseconds: estimatedNanoseconds(timeline, stays, link)
  }))
  rated.sort((a, b) => a.nanoseconds - b.nanoseconds || a.device - b.device || a.host - b.host)
  const worth: { readonly residence: Residence; readonly device: number; readonly host: number }[] = []
  for (const { stays, device, host } of rated) {
    const isBeaten = (bytes: number): boolean => worth.some((one) => one.device <= deviceSlack * bytes && one.host <= hostSlack * host)
    if (isBeaten(device)) continue
    const residence = residenceOf(timeline, stays)
    const placed = timeline.peakBytes(residence)
    if (!isBeaten(placed)) worth.push({ residence, device: placed, host })
  }
  return worth.map(({ residence }) => residence)
}

type SchedulesOf = (timeline: Timeline) => readonly (readonly Stay[])[]

/** A segmentation with what waits on the host by each schedule that is worth lowering. */
export const withSchedules = (
  { lowering: { device }, timeline }: Search,
  segments: Segmentation,
  schedulesOf: SchedulesOf
): readonly Decisions[] => {
  const seen = timeline(segments)
  return worthLowering(seen, device.linkBytesPerSecond, schedulesOf(seen)).map((residence) => ({ segments, residence }))
}

/** The same for each variant of a segmentation. */
export const withStays = (search: Search, segmentation: Segmentation, schedulesOf: SchedulesOf): readonly Decisions[] =>
  withVariants(search.variants, segmentation).flatMap((segments) => withSchedules(search, segments, schedulesOf))

/** Numbers of bytes from the fewest that a step can do with, when all that it does not use is on the host, to all that it keeps. */
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
