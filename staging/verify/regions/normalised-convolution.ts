import type { normalisedConvolutionKernels } from '../../kernels/families/normalised-convolution'
import type { KernelOf } from '../../kernels/kernels'
import { layouts, weightElements } from '../../kernels/layout'
import { contiguous, float64Bytes, rest, tile, type RegionRows } from './region'

const normalisedConvolution = (k: Omit<KernelOf<'normalisedConvolutionBackwardWeights'>, 'kind'>, e: number, p: number) => {
  const layout = layouts[k.weightLayout]
  const weights = layout === undefined ? NaN : weightElements(layout, [k.outChannels, k.channels, 1, 1], 1)
  const ofChannels = contiguous(k.channels * p)
  return {
    read: {
      source: tile(k, e),
      moments: contiguous((k.perImage === 1 ? k.batch : 1) * k.groups * 3 * float64Bytes),
      scale: ofChannels,
      shift: ofChannels
    },
    destination: tile({ ...k, channels: k.outChannels }, e),
    weights,
    bias: contiguous(k.outChannels * p)
  }
}

/** What operands of the kernels of staging/kernels/families/normalised-convolution.ts touch. */
export const normalisedConvolutionRegions: RegionRows<keyof typeof normalisedConvolutionKernels> = {
  normalisedConvolutionForward: (k, e, p) => {
    const { read, destination, weights, bias } = normalisedConvolution(k, e, p)
    return { ...read, weights: contiguous(weights * e), bias, destination, scratch: rest }
  },
  normalisedConvolutionBackwardWeights: (k, e, p) => {
    const { read, destination, weights, bias } = normalisedConvolution(k, e, p)
    return { ...read, destinationGradient: destination, weightGradient: contiguous(weights * p), biasGradient: bias, scratch: rest }
  }
}
