import { lazy } from '../memoize'

/** Half-open range of coordinates along one dimension of a tensor. */
export interface Interval {
  readonly from: number
  readonly to: number
}

/** How many coordinates an interval has. */
export const size = ({ from, to }: Interval): number => to - from

/** Whether it has none. */
export const isEmpty = ({ from, to }: Interval): boolean => to <= from

/** The smallest interval that holds both. */
export const unionInterval = (a: Interval, b: Interval): Interval => ({ from: Math.min(a.from, b.from), to: Math.max(a.to, b.to) })

/** What two intervals have in common; undefined where that is nothing. */
export const intersect = (a: Interval, b: Interval): Interval | undefined => {
  const [from, to] = [Math.max(a.from, b.from), Math.min(a.to, b.to)]
  return from < to ? { from, to } : undefined
}

/**
 * Returns the number of tiles that become of `tiles` wanted, since all but the last are equal: 7
 * rows in 5 tiles are 4, of 2, 2, 2 and 1 rows.
 */
export const effectiveTileCount = (extent: number, tiles: number): number => Math.ceil(extent / Math.ceil(extent / tiles))

/** The owned parts of a dimension, each coordinate in one; computed when they are asked for. */
export interface Partition {
  readonly extent: number
  readonly count: number
  readonly part: (index: number) => Interval
  /** Tells whether all parts but the last are as large as the first, one after the other. */
  readonly isEven: () => boolean
}

/** Ranges of ceil(extent / tiles) coordinates, the last one shorter. */
export const partition = (extent: number, tiles: number): Partition => {
  const size = Math.ceil(extent / tiles)
  return {
    extent,
    count: effectiveTileCount(extent, tiles),
    part: (index) => ({ from: index * size, to: Math.min(extent, (index + 1) * size) }),
    isEven: () => true
  }
}

/** The parts of a partition in their order. */
export const allParts = ({ count, part }: Partition): readonly Interval[] => Array.from({ length: count }, (_, index) => part(index))

/**
 * The owned parts of a tensor of another extent that leaves with one which is in parts: as many, in
 * proportion. Where one extent is a multiple of the other, up to rounding, all but the last are
 * equal too.
 */
export const partitionAlongside = (extent: number, parts: Partition): Partition => {
  const { extent: whole, count } = parts
  if (extent === whole) return parts
  const factor = extent > whole ? Math.ceil(extent / whole) : extent / whole
  const start = (at: number): number => Math.min(extent, Math.floor(at * factor))
  const part = (index: number): Interval => {
    const { from, to } = parts.part(index)
    return { from: start(from), to: to === whole ? extent : start(to) }
  }
  const isLikeFirst = (index: number): boolean => {
    const [{ to: size }, { from, to }] = [part(0), part(index)]
    return from === index * size && to - from === size
  }
  return { extent, count, part, isEven: lazy(() => Array.from({ length: count - 1 }, (_, index) => index).every(isLikeFirst)) }
}
