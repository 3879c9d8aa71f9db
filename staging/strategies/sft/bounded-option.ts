import { lazy } from '../../memoize'
import type { Segment } from '../../plans/plan'
import { blockPairs } from '../block-pairs'
import type { Search } from '../strategy'
import type { SegmentOption } from './grid-search'

/** An option by what it takes at least, where that is soon known, until it is settled. */
export const boundedOption = (
  exact: () => SegmentOption | undefined,
  atLeast: () => Omit<SegmentOption, 'settle'> | undefined
): (() => SegmentOption | undefined) => {
  let isSettled = false
  const bounded = lazy((): SegmentOption | undefined => {
    const bounds = atLeast()
    const settle = (): SegmentOption | undefined => {
      isSettled = true
      return exact()
    }
    return bounds && { ...bounds, settle }
  })
  return () => (isSettled ? undefined : bounded()) ?? exact()
}

/** An option by what pairs of blocks tell of its segment, where they tell anything. */
export const optionByPairs = (
  search: Search,
  exact: () => SegmentOption | undefined,
  segment: Segment,
  keptBytes: () => number
): (() => SegmentOption | undefined) =>
  boundedOption(exact, () => {
    const pairs = blockPairs(search)
    const nanoseconds = pairs.nanoseconds(segment)
    return nanoseconds === undefined
      ? undefined
      : { segment, addedBytes: lazy(() => pairs.addedBytes(segment)), keptBytes, nanoseconds: () => nanoseconds }
  })
