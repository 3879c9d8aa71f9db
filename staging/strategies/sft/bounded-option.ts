import { lazy } from '../../memoize'
import type { Segment } from '../../plans/plan'
import type { SegmentOption } from './grid-search'

/** What an option takes at least, by what is soon known of its segment. */
interface Bounds extends Pick<SegmentOption, 'addedBytes' | 'keptBytes'> {
  readonly segment: () => Segment
  /** Undefined where nothing is known. */
  readonly nanoseconds: () => number | undefined
}

/** An option by what it takes at least, where that is soon known, until it is settled. */
export const boundedOption = (
  exact: () => SegmentOption | undefined,
  { segment, nanoseconds, ...bytes }: Bounds
): (() => SegmentOption | undefined) => {
  let isSettled = false
  const settle = (): SegmentOption | undefined => {
    isSettled = true
    return exact()
  }
  const bounded = lazy((): SegmentOption | undefined => {
    const least = nanoseconds()
    return least === undefined ? undefined : { segment: segment(), nanoseconds: () => least, ...bytes, settle }
  })
  return () => (isSettled ? undefined : bounded()) ?? exact()
}
