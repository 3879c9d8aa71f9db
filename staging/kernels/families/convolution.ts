import { kernelFields as fields } from '../kernel-fields'
import type { KernelRows } from '../kernel-row'

const { slope: _slope, ...convolutionBackward } = fields.convolution

/** Convolutions, and what prepares their weights and adds or sums their biases. */
export const convolutionKernels = {
  /** Negative results are multiplied by `slope`: a rectifier in the same go. 1 leaves them. */
  convolutionForward: {
    fields: fields.convolution,
    operands: { source: 'read', weights: 'read', bias: 'read', destination: 'write', scratch: 'scratch' },
    optional: ['bias', 'scratch']
  },
  convolutionBackwardData: {
    fields: convolutionBackward,
    operands: { destinationGradient: 'read', weights: 'read', sourceGradient: 'write', scratch: 'scratch' },
    optional: ['scratch']
  },
  convolutionBackwardWeights: {
    fields: convolutionBackward,
    operands: { source: 'read', destinationGradient: 'read', weightGradient: 'write', biasGradient: 'write', scratch: 'scratch' },
    optional: ['biasGradient', 'scratch']
  },
  /**
   * [groups of out x in x kh x kw] from one weight layout to another, which may be a transformed
   * one.
   */
  reorderWeights: {
    fields: fields.weightReorder,
    operands: { source: 'read', destination: 'write' }
  },
  /**
   * [out x in x kh x kw] of one group, which may be transformed, as reorderWeights makes them, from
   * as many of the channels of larger weights, from the first ones on.
   */
  sliceWeights: { fields: fields.weightSlice, operands: { source: 'read', destination: 'write' } },
  /**
   * Reorders weights as reorderWeights does and rounds them to the activations' type, to the
   * nearest, ties to even: weights as products read them. No layout is a transformed one.
   */
  castWeights: { fields: fields.weightReorder, operands: { source: 'read', destination: 'write' } },
  /** Adds bias [channels] to every pixel. */
  addBias: { fields: fields.tile, operands: { bias: 'read', destination: 'accumulate' } },
  /** Sums over the tile's images and pixels. */
  sumBias: { fields: fields.tile, operands: { destinationGradient: 'read', biasGradient: 'write' } }
} as const satisfies KernelRows
