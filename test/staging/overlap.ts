import type { PageRun, Lifetime, Placement } from '../../staging/placement/placement'

const together = (a: Lifetime, b: Lifetime): boolean => a.from < b.to && b.from < a.to

const meet = (a: PageRun, b: PageRun): boolean => a.first < b.first + b.count && b.first < a.first + a.count

/**
 * Indices of the first two buffers that are live at once and share a byte of addresses or a page
 * of memory; undefined for a sound placement.
 */
export const findOverlap = (lifetimes: readonly Lifetime[], { offsets, pages }: Placement): readonly [number, number] | undefined => {
  const shareBytes = (a: number, b: number): boolean =>
    Math.max(offsets[a]!, offsets[b]!) < Math.min(offsets[a]! + lifetimes[a]!.bytes, offsets[b]! + lifetimes[b]!.bytes)
  const sharePage = (a: number, b: number): boolean =>
    pages !== undefined && pages[a]!.some((run) => pages[b]!.some((other) => meet(run, other)))
  for (let b = 1; b < lifetimes.length; b++)
    for (let a = 0; a < b; a++) if (together(lifetimes[a]!, lifetimes[b]!) && (shareBytes(a, b) || sharePage(a, b))) return [a, b]
  return undefined
}
