import type { Planned } from '../plans/plan-network'
import { formatMilliseconds } from '../text/format'

/** The predicted time of a step, and the source of the prediction. */
interface Timed extends Pick<Planned, 'device' | 'timeShares'> {
  readonly staged: { readonly predicted: Pick<Planned['staged']['predicted'], 'stepMilliseconds'> }
}

/** Times of steps that are counted, without the first, which warms up. */
const countedSteps = { least: 3, most: 10 }

/** A measured step over a predicted one beyond which a profile no longer fits its machine. */
const most = 1.3

/** Steps that take less are not the profile's alone: starting them takes time, too. */
const leastMilliseconds = 20

const lowerMedian = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[Math.floor((values.length - 1) / 2)]!

/** Whether a sentence on the pace is due after so many of all steps: once, when it can be told. */
export const isPaceDue = (done: number, steps: number): boolean => done === Math.min(countedSteps.most, steps) && done >= countedSteps.least

/**
 * A sentence for people where steps take much longer, or shorter, than this machine's profile
 * predicts: it was measured at another clock, under another load, or on another processor.
 * Undefined where they fit, or where the prediction is a rough model's or another machine's.
 */
export const paceNotice = ({ device, staged, timeShares }: Timed, stepMilliseconds: readonly number[]): string | undefined => {
  const predicted = staged.predicted.stepMilliseconds
  const counted = stepMilliseconds.slice(1, countedSteps.most)
  if (counted.length < countedSteps.least - 1 || typeof device !== 'string' || timeShares.roofline > 0.2) return undefined
  const measured = lowerMedian(counted)
  const ratio = measured / predicted
  if (predicted < leastMilliseconds || (ratio < most && ratio > 1 / most)) return undefined
  const how = ratio > 1 ? 'slower than when it was measured, or something else uses it' : 'faster than when it was measured'
  return (
    `steps take ${formatMilliseconds(measured)} where this machine's profile predicts ${formatMilliseconds(predicted)}: ` +
    `the machine is ${how}; tilefold profile --again measures it anew, for better plans`
  )
}
