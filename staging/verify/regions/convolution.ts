import type { convolutionKernels } from '../../kernels/families/convolution'
import type { KernelOf } from '../../kernels/kernels'
import { layouts, weightElements } from '../../kernels/layout'
import { contiguous, rest, tile, windowSource, windowDestination, type ByteRegion, type RegionRows } from './region'

type Matrices = Record<'outChannels' | 'inChannels' | 'kernelHeight' | 'kernelWidth' | 'groups', number>
const weights = (
  { outChannels, inChannels, kernelHeight, kernelWidth, groups }: Matrices,
  layout: number,
  elementBytes: number
): ByteRegion => {
  const known = layouts[layout]
  if (known === undefined) return contiguous(NaN)
  return contiguous(weightElements(known, [outChannels, inChannels / groups, kernelHeight, kernelWidth], groups) * elementBytes)
}

/**
 * Products read weights of the activations' bytes, but those by Winograd of the parameters', as all
 * gradients of weights are.
 */
const convolution = (k: Omit<KernelOf<'convolutionBackwardData'>, 'kind'>, e: number, p: number) => ({
  source: windowSource(k, k.sourceLayout, e),
  destination: windowDestination(k, k.outChannels, k.destinationLayout, e),
  weights: weights(k, k.weightLayout, k.algorithm === 1 ? p : e),
  weightGradient: weights(k, k.weightLayout, p),
  bias: contiguous(k.outChannels * p)
})

/** What operands of the kernels of staging/kernels/families/convolution.ts touch. */
export const convolutionRegions: RegionRows<keyof typeof convolutionKernels> = {
  convolutionForward: (k, e, p) => ({ ...convolution(k, e, p), scratch: rest }),
  convolutionBackwardData: (k, e, p) => {
    const { source, destination, weights } = convolution(k, e, p)
    return { destinationGradient: destination, weights, sourceGradient: source, scratch: rest }
  },
  convolutionBackwardWeights: (k, e, p) => {
    const { source, destination, weightGradient, bias } = convolution(k, e, p)
    return { source, destinationGradient: destination, weightGradient, biasGradient: bias, scratch: rest }
  },
  reorderWeights: (k, _, p) => ({ source: weights(k, k.sourceLayout, p), destination: weights(k, k.destinationLayout, p) }),
  sliceWeights: (k, _, p) => ({
    source: weights({ ...k, outChannels: k.sourceOutChannels, inChannels: k.sourceInChannels }, k.sourceLayout, p),
    destination: weights(k, k.destinationLayout, p)
  }),
  castWeights: (k, e, p) => ({ source: weights(k, k.sourceLayout, p), destination: weights(k, k.destinationLayout, e) }),
  addBias: (k, e, p) => ({ bias: contiguous(k.channels * p), destination: tile(k, e) }),
  sumBias: (k, e, p) => ({ destinationGradient: tile(k, e), biasGradient: contiguous(k.channels * p) })
}
