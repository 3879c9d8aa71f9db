import type { Timeline } from '../lowering/cost/timeline'
import { noWait, occupancy, targets, type LazySwapSchedule, type StageInterval } from './swap-intervals'
import type { Strategy } from './strategy'
import { swappingWhole } from './whole-model'

/**
 * GREEDY (Beaumont 2020, section 4.2): the no-wait, ordered schedule that offloads the first k
 * activations, for the smallest k whose bytes bring the peak down to `target`.
 */
export const greedySwapIntervals = (timeline: Timeline, target: number): readonly StageInterval[] => {
  let excess = Math.max(...occupancy(timeline, [])) - target
  const first = timeline.tensors.filter(({ bytes }) => {
    const isNeeded = excess > 0
    excess -= bytes
    return isNeeded
  })
  return noWait(timeline, first, target)
}

/** How many peaks a schedule is tried for. */
export const targetCount = 48

/** GREEDY's schedules (Beaumont 2020, section 4.2), one for each of some target peaks. */
export const greedySchedules = (seen: Timeline): readonly LazySwapSchedule[] =>
  targets(seen, targetCount).map((target) => () => greedySwapIntervals(seen, target))

/** GREEDY (Beaumont 2020, section 4.2) for a plain step, whose tensors wait on the host whole. */
export const greedy: Strategy = { ...swappingWhole(greedySchedules), partOf: 'dynprog' }
