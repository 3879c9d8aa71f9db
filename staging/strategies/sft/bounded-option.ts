import { lazy } from '../../memoize'
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
