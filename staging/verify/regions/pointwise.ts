import type { pointwiseKernels } from '../../kernels/families/pointwise'
import { origin, contiguous, tile, type TileFields, type RegionRows } from './region'

/** Regions of the operands that an expression reads beside its input. */
const pointwiseOperands = (k: TileFields & Record<'broadcast' | 'weightPerChannel' | 'biasPerChannel', number>, e: number, p: number) => ({
  second: k.broadcast === 1 ? contiguous(k.batch * k.channels * e) : tile(k, e),
  weight: contiguous((k.weightPerChannel === 1 ? k.channels : 1) * p),
  bias: contiguous((k.biasPerChannel === 1 ? k.channels : 1) * p)
})

/** What operands of the kernels of staging/kernels/families/pointwise.ts touch. */
export const pointwiseRegions: RegionRows<keyof typeof pointwiseKernels> = {
  rectifierForward: ({ count }, e) => ({ source: contiguous(count * e), destination: contiguous(count * e) }),
  rectifierBackward: ({ count }, e) => {
    const all = contiguous(count * e)
    return { destination: all, destinationGradient: all, sourceGradient: all }
  },
  addForward: ({ count }, e) => {
    const all = contiguous(count * e)
    return { first: all, second: all, destination: all }
  },
  dropout: (k, e) => ({ source: tile(k, e), destination: tile(k, e), ...origin(k) }),
  pointwiseForward: (k, e, p) => ({ source: tile(k, e), ...pointwiseOperands(k, e, p), destination: tile(k, e) }),
  pointwiseBackward: (k, e, p) => ({
    kept: tile(k, e),
    ...pointwiseOperands(k, e, p),
    destinationGradient: tile(k, e),
    sourceGradient: tile(k, e)
  }),
  pointwiseSum: (k, e, p) => ({
    kept: tile(k, e),
    ...pointwiseOperands(k, e, p),
    destinationGradient: tile(k, e),
    sum: contiguous([p, k.channels * p, k.batch * k.channels * e][k.rows] ?? NaN)
  })
}
