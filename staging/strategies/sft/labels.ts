import type { Segment } from '../../plans/plan'
import { segmentsOf, type SegmentOption } from './grid-search'

/** A plan of everything before a position: what it leaves in memory, what it costs in all. */
export interface PathLabel {
  readonly savedBytes: number
  readonly nanoseconds: number
  /** The option that it ends with, and the label before that; undefined at the first position. */
  readonly option: SegmentOption | undefined
  readonly before: PathLabel | undefined
}

/**
 * Adds a label to those of a position, which are sorted by bytes upwards and time downwards; none
 * is better in both than another, and one that is not better than these is not made.
 */
export const insert = (
  labels: PathLabel[],
  savedBytes: number,
  nanoseconds: number,
  option: SegmentOption | undefined,
  before: PathLabel | undefined
): void => {
  let [low, high] = [0, labels.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (labels[middle]!.savedBytes <= savedBytes) low = middle + 1
    else high = middle
  }
  if (low > 0 && labels[low - 1]!.nanoseconds <= nanoseconds) return
  if (low > 0 && labels[low - 1]!.savedBytes === savedBytes) low--
  let end = low
  while (end < labels.length && labels[end]!.nanoseconds >= nanoseconds) end++
  labels.splice(low, end - low, { savedBytes, nanoseconds, option, before })
}

/** The segments of a label, from the first on. */
export const listSegments = ({ option, before }: PathLabel): readonly Segment[] =>
  option === undefined ? [] : [...listSegments(before!), ...segmentsOf(option)]

/**
 * Resident bytes are rounded up to this many significant bits, which bounds how many labels there
 * are.
 */
const significantBits = 8

/** Bytes rounded up to few significant bits. */
export const roundBytes = (bytes: number): number => {
  // Logarithms and powers take longer, and plans are made of millions of these.
  const unit =
    bytes < 2 ** 32
      ? 1 << Math.max(0, 32 - Math.clz32(bytes) - significantBits)
      : 2 ** Math.max(0, Math.ceil(Math.log2(bytes + 1)) - significantBits)
  return Math.ceil(bytes / unit) * unit
}
