import type { lossKernels } from '../../kernels/families/loss'
import type { KernelOf } from '../../kernels/kernels'
import { contiguous, tile, strided, float64Bytes, type ByteRegion, type TileFields, type RegionRows } from './region'

const labelBytes = 4
const lossBytes = 2 * float64Bytes

/** The classes of a tile's pixels, of so many bytes each, in a plane of the full extents. */
const classesOf = (
  { batch, height, width, fullHeight, fullWidth }: Record<'batch' | 'height' | 'width' | 'fullHeight' | 'fullWidth', number>,
  bytes: number
): ByteRegion => ({
  kind: 'bytes',
  repeats: [
    { count: batch, stride: fullHeight * fullWidth * bytes },
    { count: height, stride: fullWidth * bytes }
  ],
  run: width * bytes
})

const pixelLoss = (k: TileFields & Record<'fullHeight' | 'fullWidth', number>, e: number, p: number) => ({
  source: tile(k, e),
  labels: classesOf(k, labelBytes),
  classWeights: contiguous(k.channels * p),
  normaliser: contiguous(float64Bytes)
})

const valueLoss = (k: Omit<KernelOf<'valueLossForward'>, 'kind'>, e: number, p: number) => ({
  source: tile(k, e),
  target: strided(k, p),
  rowWeights: contiguous(k.batch * p),
  normaliser: contiguous(float64Bytes)
})

/** Returns the sums of each channel of each image. */
const overlapSums = (images: number, channels: number): ByteRegion => contiguous(images * channels * 3 * float64Bytes)

/** What operands of the kernels of staging/kernels/families/loss.ts touch. */
export const lossRegions: RegionRows<keyof typeof lossKernels> = {
  softmaxCrossEntropyForward: ({ batch, classes }, e, p) => ({
    source: contiguous(batch * classes * e),
    labels: contiguous(batch * labelBytes),
    rowWeights: contiguous(batch * p),
    loss: contiguous(lossBytes)
  }),
  softmaxCrossEntropyBackward: ({ batch, classes }, e, p) => ({
    source: contiguous(batch * classes * e),
    labels: contiguous(batch * labelBytes),
    rowWeights: contiguous(batch * p),
    sourceGradient: contiguous(batch * classes * e)
  }),
  meanSquaredErrorForward: (k, e, p) => ({ source: tile(k, e), target: strided(k, p), loss: contiguous(lossBytes) }),
  meanSquaredErrorBackward: (k, e, p) => ({ source: tile(k, e), target: strided(k, p), sourceGradient: tile(k, e) }),
  pixelCrossEntropyForward: (k, e, p) => ({ ...pixelLoss(k, e, p), loss: contiguous(lossBytes) }),
  pixelCrossEntropyBackward: (k, e, p) => ({ ...pixelLoss(k, e, p), sourceGradient: tile(k, e) }),
  argmaxChannels: (k, e) => ({ source: tile(k, e), classes: classesOf(k, 1) }),
  classLossForward: (k, e, p) => ({ ...pixelLoss(k, e, p), rowWeights: contiguous(k.batch * p), loss: contiguous(lossBytes) }),
  classLossBackward: (k, e, p) => ({
    ...pixelLoss(k, e, p),
    rowWeights: contiguous(k.batch * p),
    overlaps: overlapSums(k.batch, k.channels),
    sourceGradient: tile(k, e)
  }),
  sumOverlaps: (k, e, p) => {
    const { source, labels } = pixelLoss(k, e, p)
    return { source, labels, overlaps: overlapSums(k.batch, k.channels) }
  },
  overlapLoss: ({ images, channels }, _, p) => ({
    overlaps: overlapSums(images, channels),
    classWeights: contiguous(channels * p),
    loss: contiguous(lossBytes)
  }),
  valueLossForward: (k, e, p) => ({ ...valueLoss(k, e, p), loss: contiguous(lossBytes) }),
  valueLossBackward: (k, e, p) => ({ ...valueLoss(k, e, p), sourceGradient: tile(k, e) })
}
