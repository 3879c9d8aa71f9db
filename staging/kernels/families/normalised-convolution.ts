import { kernelFields as fields } from '../kernel-fields'
import type { KernelRows } from '../kernel-row'

const { outSlope: _outSlope, ...backwardWeights } = fields.normalisedConvolution

/**
 * 1x1 convolutions with a stride of 1 that normalise their input, strip by strip, as they read it:
 * as normaliseForward and the convolution after it, without the whole tensor between them.
 */
export const normalisedConvolutionKernels = {
  normalisedConvolutionForward: {
    fields: fields.normalisedConvolution,
    operands: {
      source: 'read',
      moments: 'read',
      scale: 'read',
      shift: 'read',
      weights: 'read',
      bias: 'read',
      destination: 'write',
      scratch: 'scratch'
    },
    optional: ['scale', 'shift', 'bias', 'scratch']
  },
  normalisedConvolutionBackwardWeights: {
    fields: backwardWeights,
    operands: {
      source: 'read',
      moments: 'read',
      scale: 'read',
      shift: 'read',
      destinationGradient: 'read',
      weightGradient: 'write',
      biasGradient: 'write',
      scratch: 'scratch'
    },
    optional: ['scale', 'shift', 'biasGradient', 'scratch']
  }
} as const satisfies KernelRows
