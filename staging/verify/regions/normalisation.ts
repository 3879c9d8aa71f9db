import type { normalisationKernels } from '../../kernels/families/normalisation'
import { contiguous, tile, float64Bytes, type ByteRegion, type TileFields, type RegionRows } from './region'

type Normalised = TileFields & Record<'groups' | 'perImage', number>
/** A row of statistics is of an image by itself or of all. */
const images = ({ batch, perImage }: Normalised): number => (perImage === 1 ? batch : 1)
const moments = (rows: number): ByteRegion => contiguous(rows * 3 * float64Bytes)
const gradientSums = (images: number, channels: number): ByteRegion => contiguous(images * channels * 2 * float64Bytes)
const normalisation = (k: Normalised, e: number, p: number) => ({
  source: tile(k, e),
  moments: moments(images(k) * k.groups),
  weights: contiguous(k.channels * p),
  bias: contiguous(k.channels * p)
})

/** What operands of the kernels of staging/kernels/families/normalisation.ts touch. */
export const normalisationRegions: RegionRows<keyof typeof normalisationKernels> = {
  momentsForward: (k, e) => ({ source: tile(k, e), moments: moments(images(k) * k.groups) }),
  mergeMoments: ({ rows, parts }) => ({ source: moments(rows * parts), moments: moments(rows) }),
  addSums: ({ count, parts }) => ({ source: contiguous(count * parts * float64Bytes), sums: contiguous(count * float64Bytes) }),
  momentsOfRunning: ({ channels }, _, p) => ({
    mean: contiguous(channels * p),
    variance: contiguous(channels * p),
    moments: moments(channels)
  }),
  updateRunning: ({ channels }, _, p) => ({
    moments: moments(channels),
    mean: contiguous(channels * p),
    variance: contiguous(channels * p)
  }),
  normaliseForward: (k, e, p) => ({ ...normalisation(k, e, p), destination: tile(k, e) }),
  normaliseBackwardReduce: (k, e, p) => ({
    ...normalisation(k, e, p),
    destinationGradient: tile(k, e),
    sums: gradientSums(images(k), k.channels)
  }),
  normaliseParameters: ({ images, channels }, _, p) => ({
    sums: gradientSums(images, channels),
    weightGradient: contiguous(channels * p),
    biasGradient: contiguous(channels * p)
  }),
  normaliseBackward: (k, e, p) => ({
    ...normalisation(k, e, p),
    sums: gradientSums(images(k), k.channels),
    destinationGradient: tile(k, e),
    sourceGradient: tile(k, e)
  })
}
