import { memoizePerObject } from '../memoize'
import type { SwappableTensor, Timeline } from '../lowering/cost/timeline'
import { occupancy, targets, type StageInterval } from './swap-intervals'
import type { Strategy } from './strategy'
import { usedBytes } from './used-bytes'
import { swappingWhole } from './whole-model'

/** By stage, the tensors that forward uses there for the last time. */
const lastUsed = memoizePerObject(
  () => 0,
  ({ stages, tensors }: Timeline): readonly (readonly SwappableTensor[])[] => {
    const used = stages.map((): SwappableTensor[] => [])
    for (const tensor of tensors) used[tensor.forward]!.push(tensor)
    return used
  }
)

/**
 * Returns, by stage, the last one whose variables all lie in the window of `bytes` that begins
 * there: l and r of the paper.
 */
const windowEnds = (timeline: Timeline, bytes: number): readonly number[] => {
  const sizes = usedBytes(timeline).map((used) => used - timeline.persistentBytes)
  return sizes.map((own, first) => {
    let [end, sum] = [first, own]
    while (end + 1 < sizes.length && sum + sizes[end + 1]! <= bytes) sum += sizes[++end]!
    return end
  })
}

/**
 * The schedule-window (Hayakawa 2020, section 3). It slides over the sequence of all variables,
 * layer by layer: (a) what comes into it is swapped in; (b) the oldest swap-outs are completed
 * where more than `target` bytes would be live; (c) what the layer has used is swapped out, unless
 * the window has it again or nothing reads it any more (Fig. 2d).
 */
export const windowSwapIntervals = (timeline: Timeline, target: number, windowBytes: number): readonly StageInterval[] => {
  const [ends, used] = [windowEnds(timeline, windowBytes), lastUsed(timeline)]
  const live = [...occupancy(timeline, [])]
  const leaving: { readonly tensor: SwappableTensor; readonly swapOut: number; readonly freed?: number }[] = []
  const intervals: StageInterval[] = []
  timeline.stages.forEach((_, stage) => {
    const entering = leaving.filter(({ tensor: { backward } }) => backward <= ends[stage]!)
    for (const interval of entering) {
      leaving.splice(leaving.indexOf(interval), 1)
      const { tensor, swapOut, freed } = interval
      if (freed === undefined) continue
      intervals.push({ tensor, swapOut, freed, swapIn: stage })
      for (let later = stage; later < tensor.backward; later++) live[later]! += tensor.bytes
    }
    while (live[stage]! > target) {
      const oldest = leaving.findIndex(({ freed }) => freed === undefined)
      if (oldest === -1) break
      const { tensor, swapOut } = leaving[oldest]!
      leaving[oldest] = { tensor, swapOut, freed: stage }
      for (let later = stage; later < tensor.backward; later++) live[later]! -= tensor.bytes
    }
    for (const tensor of used[stage]!) if (tensor.backward > ends[stage]!) leaving.push({ tensor, swapOut: stage + 1 })
  })
  return intervals
}

/** Windows as shares of what the budget leaves beside the parameters. */
export const shares = [0.25, 0.5, 1, 2]
const targetCount = 32

/**
 * The schedule-window (Hayakawa 2020, section 3) for a plain step, whose tensors wait on the host
 * whole.
 */
export const window: Strategy = swappingWhole((seen) =>
  targets(seen, targetCount).flatMap((target) =>
    shares.map((share) => () => windowSwapIntervals(seen, target, share * (target - seen.persistentBytes)))
  )
)
