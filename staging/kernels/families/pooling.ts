import { kernelFields as fields } from '../kernel-fields'
import type { KernelRows } from '../kernel-row'

/** Pooling over windows, and over all pixels. */
export const poolingKernels = {
  /**
   * `indices`: which element of each window was largest (the first of equals), in a form of the
   * device's own.
   */
  maxPoolForward: { fields: fields.pool, operands: { source: 'read', destination: 'write', indices: 'write' } },
  maxPoolBackward: { fields: fields.pool, operands: { destinationGradient: 'read', indices: 'read', sourceGradient: 'write' } },
  /** Divides by the window's size with padding (countPadding 1) or without. */
  averagePoolForward: {
    fields: fields.averagePool,
    operands: { source: 'read', destination: 'write' }
  },
  averagePoolBackward: {
    fields: fields.averagePool,
    operands: { destinationGradient: 'read', sourceGradient: 'write' }
  },
  /** sum[b, c] += scale * sum of the tile's pixels; sum is plain [batch, channels]. */
  globalAveragePoolForward: { fields: fields.globalAveragePool, operands: { source: 'read', sum: 'accumulate' } },
  globalAveragePoolBackward: { fields: fields.globalAveragePool, operands: { sumGradient: 'read', sourceGradient: 'write' } },
  /**
   * maxima: two float64 for each channel of each image, the largest element so far and one past its
   * absolute place in row-major order, which is 0 where there is none yet. Takes in those of the
   * tile: the first of equals wins, a NaN always. destination, plain [batch, channels], is what is
   * then the largest.
   */
  globalMaxPoolForward: {
    fields: fields.placedTile,
    operands: { source: 'read', maxima: 'accumulate', destination: 'write', rowOrigin: 'index', columnOrigin: 'index' }
  },
  /**
   * maxima: those of `parts` lists of `rows` maxima, one after the other in source, row by row: the
   * largest, of equals the one with the first place, a NaN always. destination is what is largest.
   */
  mergeMaxima: { fields: fields.mergeParts, operands: { source: 'read', maxima: 'write', destination: 'write' } },
  globalMaxPoolBackward: {
    fields: fields.placedTile,
    operands: { destinationGradient: 'read', maxima: 'read', sourceGradient: 'write', rowOrigin: 'index', columnOrigin: 'index' }
  }
} as const satisfies KernelRows
