import type { linearKernels } from '../../kernels/families/linear'
import { contiguous, type RegionRows } from './region'

const linear = ({ batch, inFeatures, outFeatures }: Record<'batch' | 'inFeatures' | 'outFeatures', number>, e: number, p: number) => ({
  source: contiguous(batch * inFeatures * e),
  weights: contiguous(outFeatures * inFeatures * e),
  weightGradient: contiguous(outFeatures * inFeatures * p),
  bias: contiguous(outFeatures * p),
  destination: contiguous(batch * outFeatures * e)
})

/** What operands of the kernels of staging/kernels/families/linear.ts touch. */
export const linearRegions: RegionRows<keyof typeof linearKernels> = {
  linearForward: linear,
  linearBackwardData: (k, e, p) => {
    const { source, weights, destination } = linear(k, e, p)
    return { destinationGradient: destination, weights, sourceGradient: source }
  },
  linearBackwardWeights: (k, e, p) => {
    const { source, weightGradient, bias, destination } = linear(k, e, p)
    return { source, destinationGradient: destination, weightGradient, biasGradient: bias }
  }
}
