import { type Segment } from '../../plans/plan'
import { tileCount, type Grid } from '../../graph/span'

/** One segment between two positions, with what it takes there. */
export interface SegmentOption {
  readonly segment: Segment
  /** Segments before it, from the first position on, that run forward again before its backward. */
  readonly rematerialized?: readonly Segment[]
  /**
   * The most bytes that it adds to what is resident, the tensors at its ends included; infinitely
   * many where the device refuses one of its kernels.
   */
  readonly addedBytes: () => number
  readonly keptBytes: () => number
  readonly nanoseconds: () => number
  /**
   * Where bytes and time are bounds from below: the exact option, which the search finds in its
   * place from then on; undefined where it cannot be.
   */
  readonly settle?: () => SegmentOption | undefined
}

/** All segments of an option. */
export const segmentsOf = ({ segment, rematerialized = [] }: Pick<SegmentOption, 'segment' | 'rematerialized'>): readonly Segment[] => [
  ...rematerialized,
  segment
]

/**
 * The first grid, from coarse to fine, that fits, by bisection. A grid that would be faster than a
 * coarser one that was looked at, or slower than a finer one, is passed over: so less memory never
 * finds a faster grid. Where none fits, no times are asked for.
 */
export const firstFitting = (
  count: number,
  optionOf: (index: number) => SegmentOption | undefined,
  available: number,
  fastest: number,
  slowest: number
): SegmentOption | undefined => {
  const tooLarge: SegmentOption[] = []
  let [low, high] = [0, count]
  while (low < high) {
    const middle = (low + high) >> 1
    const option = optionOf(middle)
    if (option === undefined) high = middle
    else if (option.addedBytes() <= available) break
    else {
      tooLarge.push(option)
      low = middle + 1
    }
  }
  if (low === high) return undefined
  let floor = fastest
  // The finest one takes longest, likely; then the others need not be timed.
  for (const option of [...tooLarge].reverse()) if (floor <= slowest) floor = Math.max(floor, option.nanoseconds())
  let found: SegmentOption | undefined
  while (low < high && floor <= slowest) {
    const middle = (low + high) >> 1
    const option = optionOf(middle)
    if (option === undefined) high = middle
    else if (option.nanoseconds() < floor || (found !== undefined && option.nanoseconds() > found.nanoseconds())) low = middle + 1
    else if (option.addedBytes() <= available) [found, high] = [option, middle]
    else [floor, low] = [option.nanoseconds(), middle + 1]
  }
  return found
}

/** The coarsest grid that fits, by bisection. */
export const coarsestFitting = (
  count: number,
  optionOf: (index: number) => SegmentOption | undefined,
  available: number
): SegmentOption | undefined => {
  let [low, high] = [0, count]
  let found: SegmentOption | undefined
  while (low < high) {
    const middle = (low + high) >> 1
    const option = optionOf(middle)
    if (option !== undefined && option.addedBytes() > available) low = middle + 1
    else [found, high] = [option ?? found, middle]
  }
  return found
}

/** Grids that load ahead are looked at about a half finer each time. */
const finer = 1.5
/**
 * And taken only for less than this part of the time: small tiles run a little slower than they are
 * predicted to.
 */
const worthFiner = 0.97

/**
 * Finds the fastest grid that prefetches. Finer ones wait less, for the first tile's load and the
 * last one's, but do more in all: from the coarsest that fits on, as long as they get faster.
 */
export const fastestPrefetching = (
  grids: readonly Grid[],
  optionOf: (index: number) => SegmentOption | undefined,
  available: number
): SegmentOption | undefined => {
  const from = (best: SegmentOption): SegmentOption => {
    const index = grids.findIndex((grid) => tileCount(grid) >= finer * tileCount(best.segment.grid))
    const next = index === -1 ? undefined : optionOf(index)
    return next !== undefined && next.addedBytes() <= available && next.nanoseconds() < worthFiner * best.nanoseconds() ? from(next) : best
  }
  const coarsest = coarsestFitting(grids.length, optionOf, available)
  return coarsest && from(coarsest)
}
