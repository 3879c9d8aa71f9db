import type { Read, SwappableTensor, Timeline } from '../lowering/cost/timeline'
import { freedAt, freeWhenNeeded, peakOccupancy, type UnfreedInterval, type LazySwapSchedule, type StageInterval } from './swap-intervals'
import type { Strategy } from './strategy'
import { swappingWhole } from './whole-model'

/**
 * The parameters of TFLMS (Imai 2019, section 3.1). Distances count layers in the order in which
 * they run, forward and then backward.
 */
export interface LmsParameters {
  /**
   * Distance in layers: a tensor that backward reads at this distance or further from the layer
   * that makes it is swapped out.
   */
  readonly swapoutThreshold: number
  /** Number of layers before its reader at which a tensor is swapped in. */
  readonly swapinAhead: number
  /**
   * Layers of backward that read the same tensor share a swap-in where they are no further than
   * this from the first of them.
   */
  readonly swapinGroupby: number
}

/** A tensor as if one stage had used it last, and one of backward were the first to read it. */
const usedBetween = (tensor: SwappableTensor, forward: number, { stage, nanosecondsBefore }: Read): SwappableTensor => {
  const { name, identity, bytes, movedBytes, from, to, written, reads } = tensor
  return { name, identity, bytes, movedBytes, from, to, written, forward, backward: stage, nanosecondsBefore, reads }
}

/** What is made once more of a tensor between two groups of layers that read it in backward. */
const laterIntervals = (tensor: SwappableTensor, { swapinAhead, swapinGroupby }: LmsParameters): readonly StageInterval[] => {
  const intervals: StageInterval[] = []
  let [first, last] = [tensor.backward, tensor.backward]
  for (const { stage, nanosecondsBefore } of tensor.reads) {
    const [freed, swapIn] = [last + 1, Math.max(last + 1, stage - swapinAhead)]
    // Where it would be swapped in at once it stays.
    if (stage - first > swapinGroupby && swapIn > freed) {
      intervals.push({
        tensor: usedBetween(tensor, last, { stage, nanosecondsBefore }),
        swapOut: first + 1,
        freed,
        swapIn,
        again: true
      })
      first = stage
    }
    last = stage
  }
  return intervals
}

/** An interval of each tensor that the threshold lets go. */
const unfreedIntervals = (
  { tensors }: Timeline,
  { swapoutThreshold, swapinAhead }: Omit<LmsParameters, 'swapinGroupby'>
): readonly UnfreedInterval[] =>
  tensors
    .filter(({ written, forward, backward }) => backward - forward >= 2 && backward - written >= swapoutThreshold)
    .map((tensor) => {
      const { forward, backward, written } = tensor
      return { tensor, swapOut: written + 1, swapIn: Math.max(forward + 1, backward - swapinAhead) }
    })

const freeAtOnce = (unfreed: readonly UnfreedInterval[]): readonly StageInterval[] =>
  unfreed.map((interval) => freedAt(interval, interval.tensor.forward + 1))

/** TFLMS's swaps: bytes are given up as soon as can be. */
export const lmsSwapIntervals = (timeline: Timeline, parameters: LmsParameters): readonly StageInterval[] => {
  const unfreed = unfreedIntervals(timeline, parameters)
  return [...freeAtOnce(unfreed), ...unfreed.flatMap(({ tensor }) => laterIntervals(tensor, parameters))]
}

/**
 * Returns LMS's intervals with each tensor swapped in once, and bytes given up as late as leaves
 * the peak as it is: then computing waits less, but what lies where is less tidy.
 */
export const lateSwapIntervals = (timeline: Timeline, parameters: Omit<LmsParameters, 'swapinGroupby'>): readonly StageInterval[] => {
  const unfreed = unfreedIntervals(timeline, parameters)
  return freeWhenNeeded(timeline, unfreed, peakOccupancy(timeline, freeAtOnce(unfreed)))
}

/** Picks at most `count` of some numbers, the smallest first. */
const spread = (numbers: readonly number[], count: number): readonly number[] => {
  const sorted = [...new Set(numbers)].sort((a, b) => a - b)
  const every = Math.ceil(sorted.length / count)
  return sorted.filter((_, index) => index % every === 0)
}

/**
 * The granularity of tuning: of deep networks not every threshold is tried, and swap-ins ahead grow
 * by a factor.
 */
interface Tuning {
  readonly maxThresholds: number
  readonly aheadFactor: number
}
const closely: Tuning = { maxThresholds: 48, aheadFactor: 1.3 }

/**
 * The automatic tuning of the three parameters, by simulation: thresholds that make a difference,
 * swap-ins ahead, and groups of all that read a tensor, of none, and between.
 */
export const lmsSchedules = (timeline: Timeline, { maxThresholds, aheadFactor } = closely): readonly LazySwapSchedule[] => {
  const thresholds = spread(
    timeline.tensors.map(({ written, backward }) => backward - written),
    maxThresholds
  )
  const distances = timeline.tensors.flatMap(({ backward, reads }) =>
    reads.flatMap(({ stage }) => (stage - backward > 1 ? [stage - backward - 1] : []))
  )
  const groups = spread(distances, 2)
  const aheads: number[] = []
  for (let ahead = 0; ahead < timeline.stages.length; ahead = Math.max(ahead + 1, Math.round(ahead * aheadFactor))) aheads.push(ahead)
  return [
    () => [],
    ...thresholds.flatMap((swapoutThreshold) =>
      aheads.flatMap((swapinAhead) => {
        const grouped = (swapinGroupby: number) => () => lmsSwapIntervals(timeline, { swapoutThreshold, swapinAhead, swapinGroupby })
        const together = grouped(Infinity)
        const late = () => lateSwapIntervals(timeline, { swapoutThreshold, swapinAhead })
        const count = together().length
        return [together, late, ...groups.map(grouped).filter((intervals) => intervals().length > count)]
      })
    )
  ]
}

/** TFLMS (Imai 2019) for a plain step, whose tensors wait on the host whole. */
export const lms: Strategy = { ...swappingWhole((seen) => lmsSchedules(seen), 'again'), partOf: 'lms-hybrid' }
