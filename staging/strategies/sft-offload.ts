import { isDeepStrictEqual } from 'node:util'
import { poolBeforeRectifying } from '../order'
import { noWait, peakOf, targets, withSchedules } from './host-stays'
import { fastestWithin } from './sft'
import type { Search, Segmentation, Strategy } from './strategy'

/** Bytes for a segment beside what is resident, from little to much: each next one a half more, and the last enough for all in one. */
const segmentTargets = ({ residentBytes, timeline }: Search, whole: Segmentation): readonly number[] => {
  const seen = timeline(whole)
  const most = Math.max(...seen.stages.map(({ bytes }) => bytes), residentBytes + 1)
  const rests = [Math.max(most, peakOf(seen, []))]
  for (let rest = most; rests.length <= mostTargets; rest /= growth) rests.push(rest)
  return rests.reverse().map((rest) => residentBytes + rest)
}

const growth = 1.5
const mostTargets = 14

/** Numbers of bytes for which the transfers of one segmentation are scheduled. */
const scheduleCount = 12

/**
 * sft without memory for what is kept from forward to backward: for each target the segments of least time whose own tensors fit it. What
 * stands between them waits on the host by ordered no-wait schedules (paper 004, Proposition 1), so that tiles, recomputation and
 * transfers are decided together.
 */
export const sftOffload: Strategy = {
  order: poolBeforeRectifying,
  obeysMarks: true,
  kind: 'swapping',
  tiles: true,
  all: (search) => {
    const { lowering } = search
    const within = fastestWithin(search, false)
    const whole = [{ from: 0, to: lowering.graph.nodes.length, grid: { B: 1, H: 1, W: 1 }, recompute: false, reorder: 'once' }] as const
    const segmentations = segmentTargets(search, whole)
      .flatMap(within)
      .reduce<readonly Segmentation[]>(
        (found, segments) => (found.some((one) => isDeepStrictEqual(one, segments)) ? found : [...found, segments]),
        []
      )
    return segmentations.flatMap((segments) =>
      withSchedules(search, segments, (seen) => targets(seen, scheduleCount).map((target) => noWait(seen, seen.tensors, target)))
    )
  }
}
