import type { poolingKernels } from '../../kernels/families/pooling'
import {
  contiguous,
  rest,
  tile,
  windowSource,
  windowDestination,
  origin,
  float64Bytes,
  type TileFields,
  type WindowFields,
  type RegionRows
} from './region'

const pool = (k: WindowFields & { readonly layout: number }, elementBytes: number) => ({
  source: windowSource(k, k.layout, elementBytes),
  destination: windowDestination(k, k.inChannels, k.layout, elementBytes)
})

/** A value and its place, in double. */
const maximumBytes = 2 * float64Bytes

/** Returns the maxima that a global max pool accumulates, and where its tile begins. */
const maxima = (k: TileFields & Record<'fullHeight' | 'fullWidth', number>) => {
  const { rowOrigin, columnOrigin } = origin(k)
  return { maxima: contiguous(k.batch * k.channels * maximumBytes), rowOrigin, columnOrigin }
}

/** What operands of the kernels of staging/kernels/families/pooling.ts touch. */
export const poolingRegions: RegionRows<keyof typeof poolingKernels> = {
  maxPoolForward: (k, e) => ({ ...pool(k, e), indices: rest }),
  maxPoolBackward: (k, e) => {
    const { source, destination } = pool(k, e)
    return { destinationGradient: destination, indices: rest, sourceGradient: source }
  },
  averagePoolForward: pool,
  averagePoolBackward: (k, e) => {
    const { source, destination } = pool(k, e)
    return { destinationGradient: destination, sourceGradient: source }
  },
  globalAveragePoolForward: (k, e, p) => ({ source: tile(k, e), sum: contiguous(k.batch * k.channels * p) }),
  globalAveragePoolBackward: (k, e) => ({ sumGradient: contiguous(k.batch * k.channels * e), sourceGradient: tile(k, e) }),
  globalMaxPoolForward: (k, e) => ({ source: tile(k, e), destination: contiguous(k.batch * k.channels * e), ...maxima(k) }),
  mergeMaxima: ({ rows, parts }, e) => ({
    source: contiguous(rows * parts * maximumBytes),
    maxima: contiguous(rows * maximumBytes),
    destination: contiguous(rows * e)
  }),
  globalMaxPoolBackward: (k, e) => ({
    destinationGradient: contiguous(k.batch * k.channels * e),
    sourceGradient: tile(k, e),
    ...maxima(k)
  })
}
