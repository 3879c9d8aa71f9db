import type { Timeline } from '../lowering/timeline'
import { freedWhenNeeded, peakOf, type Stay } from './host-stays'
import type { Strategy } from './strategy'
import { swappingWhole } from './whole-model'

/**
 * TFLMS (paper 001, section 3.1). Distances count layers in the order in which they run. `swapoutThreshold`: what backward reads at this
 * distance or further is swapped out; `swapinAhead`: how far before that it is swapped in. (`swapin_groupby` joins swap-ins of one tensor:
 * here there is always one, before its first reader in backward, and then it stays for the others.) Bytes are given up as soon as can be,
 * or as late as that leaves the peak as it is: then computing waits less, but what lies where is less tidy.
 */
export const lmsStays = (
  timeline: Timeline,
  swapoutThreshold: number,
  swapinAhead: number
): Readonly<Record<'late' | 'soon', readonly Stay[]>> => {
  const open = timeline.tensors
    .filter(({ forward, backward }) => backward - forward >= Math.max(2, swapoutThreshold))
    .map((tensor) => {
      const { forward, backward } = tensor
      return { tensor, swapOut: tensor.written + 1, swapIn: Math.max(forward + 1, backward - swapinAhead) }
    })
  const soon = open.map((stay): Stay => ({ ...stay, freed: stay.tensor.forward + 1 }))
  return { soon, late: freedWhenNeeded(timeline, open, peakOf(timeline, soon)) }
}

/** Of deep networks not every threshold is tried. */
const mostThresholds = 48

/** Every threshold that makes a difference, with swap-ins ahead that grow by a factor: the automatic tuning, by simulation. */
export const lmsSchedules = (timeline: Timeline, growth = 1.3): readonly (readonly Stay[])[] => {
  const distances = [...new Set(timeline.tensors.map(({ forward, backward }) => backward - forward))].sort((a, b) => a - b)
  const every = Math.ceil(distances.length / mostThresholds)
  const thresholds = distances.filter((_, index) => index % every === 0)
  const aheads: number[] = []
  for (let ahead = 0; ahead < timeline.stages.length; ahead = Math.max(ahead + 1, Math.round(ahead * growth))) aheads.push(ahead)
  return [[], ...thresholds.flatMap((threshold) => aheads.flatMap((ahead) => Object.values(lmsStays(timeline, threshold, ahead))))]
}

export const lms: Strategy = swappingWhole((seen) => lmsSchedules(seen))
