import type { Lifetime, Placement } from './placement'

/**
 * The unusable-free-space metric of Yang 2020, equation (1): of the bytes that are free when a
 * buffer is asked for, the share in blocks that are too small for it, counted exactly where the
 * paper counts powers of two. The mean over all requests that find something free; 0 is no
 * fragmentation. The pool is [0, peakBytes). Pages of virtual addressing have no such blocks.
 */
export const unusableFreeSpace = (lifetimes: readonly Lifetime[], { offsets, peakBytes, pages }: Placement): number => {
  if (pages !== undefined) return 0
  const byOffset = lifetimes.map((_, index) => index).sort((a, b) => offsets[a]! - offsets[b]! || a - b)
  const shares = lifetimes.flatMap(({ bytes, from }, wanted) => {
    let [free, unusable, end] = [0, 0, 0]
    const count = (block: number): void => {
      if (block <= 0) return
      free += block
      if (block < bytes) unusable += block
    }
    for (const index of byOffset) {
      const other = lifetimes[index]!
      // What is born at the same moment is asked for in order.
      if (other.from > from || other.to <= from || (other.from === from && index >= wanted)) continue
      count(offsets[index]! - end)
      end = Math.max(end, offsets[index]! + other.bytes)
    }
    count(peakBytes - end)
    return free > 0 ? [unusable / free] : []
  })
  return shares.length === 0 ? 0 : shares.reduce((sum, share) => sum + share, 0) / shares.length
}
