import type { resamplingKernels } from '../../kernels/families/resampling'
import { index, activation, type RegionRows } from './region'

type Resampled = Record<'batch' | 'channels' | 'inHeight' | 'inWidth' | 'outHeight' | 'outWidth' | 'layout', number> &
  Record<'fullInHeight' | 'fullInWidth' | 'fullOutHeight' | 'fullOutWidth', number>
const resampled = (k: Resampled, elementBytes: number) => ({
  source: activation(k.layout, [k.batch, k.channels, k.inHeight, k.inWidth], elementBytes),
  destination: activation(k.layout, [k.batch, k.channels, k.outHeight, k.outWidth], elementBytes),
  at: {
    sourceRow: index(k.fullInHeight - k.inHeight),
    sourceColumn: index(k.fullInWidth - k.inWidth),
    destinationRow: index(k.fullOutHeight - k.outHeight),
    destinationColumn: index(k.fullOutWidth - k.outWidth)
  }
})
const resampledForward = (k: Resampled, elementBytes: number) => {
  const { source, destination, at } = resampled(k, elementBytes)
  return { source, destination, ...at }
}
const resampledBackward = (k: Resampled, elementBytes: number) => {
  const { source, destination, at } = resampled(k, elementBytes)
  return { destinationGradient: destination, sourceGradient: source, ...at }
}

/** What operands of the kernels of staging/kernels/families/resampling.ts touch. */
export const resamplingRegions: RegionRows<keyof typeof resamplingKernels> = {
  resizeForward: resampledForward,
  resizeBackward: resampledBackward,
  adaptivePoolForward: resampledForward,
  adaptivePoolBackward: resampledBackward,
  padForward: resampledForward,
  padBackward: resampledBackward
}
