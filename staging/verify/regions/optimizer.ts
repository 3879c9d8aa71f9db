import type { optimizerKernels } from '../../kernels/families/optimizer'
import { contiguous, float64Bytes, type RegionRows } from './region'

/** What operands of the kernels of staging/kernels/families/optimizer.ts touch. */
export const optimizerRegions: RegionRows<keyof typeof optimizerKernels> = {
  sgd: ({ count }, _, p) => {
    const all = contiguous(count * p)
    return { weights: all, gradient: all, velocity: all }
  },
  adam: ({ count }, _, p) => {
    const all = contiguous(count * p)
    return { weights: all, gradient: all, firstMoment: all, secondMoment: all }
  },
  sumSquares: ({ count }, _, p) => ({ source: contiguous(count * p), sum: contiguous(float64Bytes) }),
  clipGradient: ({ count }, _, p) => ({ sumSquares: contiguous(float64Bytes), gradient: contiguous(count * p) }),
  squareRoot: ({ count }) => ({ source: contiguous(count * float64Bytes), destination: contiguous(count * float64Bytes) })
}
