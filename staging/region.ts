import type { Access } from './access'

/** Half-open range of coordinates along one dimension of a tensor. */
export interface Interval {
  readonly from: number
  readonly to: number
}

/** What an op reads along one dimension for a range of outputs: coordinates, and how far its windows stand outside the tensor. */
export interface Reading {
  readonly interval: Interval
  readonly padBefore: number
  readonly padAfter: number
  /** The part of padAfter that lies past the declared padding (windows added by ceilMode). */
  readonly overhang: number
}

/** Exactly these coordinates. */
export const unpadded = (interval: Interval): Reading => ({ interval, padBefore: 0, padAfter: 0, overhang: 0 })

/**
 * inputRegion along one dimension (DESIGN §3): paper 002's slice of sigma T + delta, clipped to the input's `extent`;
 * what was clipped off is explicit padding. An empty interval means that the outputs see nothing but padding.
 */
export const inputInterval = (access: Access, output: Interval, extent: number): Reading => {
  switch (access.kind) {
    case 'same':
      return unpadded(output)
    case 'whole':
    case 'reduce':
      return unpadded({ from: 0, to: extent })
    case 'window': {
      const from = output.from * access.stride - access.padBefore
      const to = (output.to - 1) * access.stride - access.padBefore + access.dilation * (access.kernel - 1) + 1
      const clipped = { from: Math.max(from, 0), to: Math.min(to, extent) }
      return {
        interval: clipped,
        padBefore: clipped.from - from,
        padAfter: to - clipped.to,
        overhang: Math.max(0, to - extent - access.padAfter)
      }
    }
  }
}

/** How many tiles become of `tiles` wanted, since all but the last are equal: 7 rows in 5 tiles are 4, of 2, 2, 2 and 1 rows. */
export const tilesMade = (extent: number, tiles: number): number => Math.ceil(extent / Math.ceil(extent / tiles))

/** The owned parts of a dimension: ranges of ceil(extent / tiles) coordinates, the last one shorter; each coordinate once. */
export const partition = (extent: number, tiles: number): readonly Interval[] => {
  const size = Math.ceil(extent / tiles)
  return Array.from({ length: tilesMade(extent, tiles) }, (_, index) => ({
    from: index * size,
    to: Math.min(extent, (index + 1) * size)
  }))
}
