/** Bytes of the arena, half-open. */
export type Range = readonly [from: number, to: number]

/** The first byte of a range that is not in just one of others; undefined where all are. */
export const firstNotOnce = ([from, to]: Range, others: readonly Range[]): number | undefined => {
  let reached = from
  for (const other of others.filter((one) => one[0] < to && from < one[1]).sort((a, b) => a[0] - b[0])) {
    if (other[0] !== reached) return Math.max(from, Math.min(reached, other[0]))
    reached = other[1]
  }
  return reached < to ? reached : undefined
}
