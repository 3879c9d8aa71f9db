import { type Check, type PartName, shares } from './check-options'
import { type Deadline, deadlineIn } from './deadline'
import { sum } from './verdict'

/** Until when each part of a check may work. */
export interface Schedule {
  /** Later parts have their share. */
  readonly until: (name: PartName) => Deadline
  /** All parts that are left may work so many seconds longer. */
  readonly postpone: (seconds: number) => void
}

const shareOf = (some: readonly PartName[]): number => sum(some.map((one) => shares[one]))

/** The schedule of a check that takes so many seconds from now. */
export const makeSchedule = ({ minutes, parts }: Pick<Check, 'minutes' | 'parts'>, seconds: number): Schedule => {
  let end = deadlineIn(seconds)
  return {
    until: (name) => end.before((60 * minutes * shareOf(parts.slice(parts.indexOf(name) + 1))) / shareOf(parts)),
    postpone: (more) => (end = deadlineIn(end.atMost(Infinity) + more))
  }
}
