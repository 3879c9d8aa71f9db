import { kernelFields as fields } from '../kernel-fields'
import type { KernelRows } from '../kernel-row'

const { add: _add, ...normaliseForward } = fields.normalise

/** Moments, and what normalises by them. */
export const normalisationKernels = {
  /**
   * A row's moments are three float64: count, mean, sum of squared deviations. Merges those of the
   * tile, in double (Chan et al. 1979).
   */
  momentsForward: { fields: fields.groupedTile, operands: { source: 'read', moments: 'accumulate' } },
  /**
   * The moments of `rows` of which each rank has gathered a part: those of `parts` ranks, which lie
   * one after the other, merged in their order.
   */
  mergeMoments: { fields: fields.mergeParts, operands: { source: 'read', moments: 'write' } },
  /** Sums in double, `count` of each of `parts` ranks, added in the order of ranks. */
  addSums: { fields: fields.addSums, operands: { source: 'read', sums: 'write' } },
  /** Moments (count 1) that stand for a running mean and variance [channels]. */
  momentsOfRunning: { fields: fields.channelCount, operands: { mean: 'read', variance: 'read', moments: 'write' } },
  /** running = (1 - momentum) running + momentum batch; the variance unbiased, as in PyTorch. */
  updateRunning: { fields: fields.updateRunning, operands: { moments: 'read', mean: 'accumulate', variance: 'accumulate' } },
  /**
   * y = rectified((x - mean) / sqrt(variance + epsilon) * weights + bias), weights and bias
   * [channels]; slope as of convolutionForward.
   */
  normaliseForward: {
    fields: normaliseForward,
    operands: { source: 'read', moments: 'read', weights: 'read', bias: 'read', destination: 'write' },
    optional: ['weights', 'bias'],
    inPlace: ['source']
  },
  /**
   * Adds to sums, two float64 for each channel (of each image where perImage is 1): of dy, and of
   * dy times the normalised x. The rectifier's part of the gradient is found from x.
   */
  normaliseBackwardReduce: {
    fields: normaliseForward,
    operands: { source: 'read', moments: 'read', weights: 'read', bias: 'read', destinationGradient: 'read', sums: 'accumulate' },
    optional: ['weights', 'bias']
  },
  /** Gradients of weights and bias [channels] from sums of `images` images (1 for batchNorm). */
  normaliseParameters: {
    fields: fields.normaliseParameters,
    operands: { sums: 'read', weightGradient: 'write', biasGradient: 'write' },
    optional: ['biasGradient']
  },
  /**
   * weights rstd (dy - mean of dy - normalised x times mean of dy normalised x), means over a row
   * by its count; without sums, moments are constants: weights rstd dy. `add` 1 adds to
   * sourceGradient.
   */
  normaliseBackward: {
    fields: fields.normalise,
    operands: {
      source: 'read',
      moments: 'read',
      weights: 'read',
      bias: 'read',
      sums: 'read',
      destinationGradient: 'read',
      sourceGradient: 'accumulate'
    },
    optional: ['weights', 'bias', 'sums'],
    inPlace: ['destinationGradient']
  }
} as const satisfies KernelRows
