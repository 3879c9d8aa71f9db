/** Half-open range of coordinates along one dimension of a tensor. */
export interface Interval {
  readonly from: number
  readonly to: number
}

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

/**
 * The owned parts of a dimension: ranges of ceil(extent / tiles) coordinates, the last one shorter;
 * each coordinate once.
 */
export const partition = (extent: number, tiles: number): readonly Interval[] => {
  const size = Math.ceil(extent / tiles)
  return Array.from({ length: effectiveTileCount(extent, tiles) }, (_, index) => ({
    from: index * size,
    to: Math.min(extent, (index + 1) * size)
  }))
}

/**
 * The owned parts of a tensor of another extent that leaves with one which is in parts: as many, in
 * proportion, each coordinate once. Where one extent is a multiple of the other, up to rounding,
 * all but the last are equal too.
 */
export const partitionAlongside = (extent: number, parts: readonly Interval[]): readonly Interval[] => {
  const whole = parts[parts.length - 1]!.to
  if (extent === whole) return parts
  const factor = extent > whole ? Math.ceil(extent / whole) : extent / whole
  const start = (at: number): number => Math.min(extent, Math.floor(at * factor))
  return parts.map(({ from, to }) => ({ from: start(from), to: to === whole ? extent : start(to) }))
}
