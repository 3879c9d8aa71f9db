/** A point in time that no part of a check works beyond. */
export interface Deadline {
  /** Seconds that are left, at most so many. */
  readonly atMost: (seconds: number) => number
  readonly isOver: () => boolean
  /** So many seconds before: they are kept for what comes later. */
  readonly before: (seconds: number) => Deadline
}

/** A deadline so many seconds from now. */
export const deadlineIn = (seconds: number): Deadline => {
  const end = performance.now() + seconds * 1000
  const left = (): number => Math.max(0, (end - performance.now()) / 1000)
  return {
    atMost: (most) => Math.min(most, left()),
    isOver: () => left() === 0,
    before: (seconds) => deadlineIn(left() - seconds)
  }
}
