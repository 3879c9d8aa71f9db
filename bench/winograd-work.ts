/**
 * The arithmetic of Winograd's F(4x4, 3x3) beside its products: vector operations of its transforms
 * as native/src/cpu/winograd_loops.cpp has them, an addition, product or multiply-add each one.
 */
import { isConvolution, type Kernel } from '../staging'
import { isTransformed, layouts } from '../staging/kernels/layout'

/** It multiplies a quarter as often, where tiles are whole. */
export const winogradSaving = 4

/** Tiles of 4x4 results, as if all were whole. */
const tiles = (batch: number, height: number, width: number): number => (batch * height * width) / 16

/** Of a separable transform of a square: its columns first, then the rows that come of them. */
const bothWays = (from: number, to: number, operations: number): number => (from + to) * operations

const ofWindow = bothWays(6, 6, 12) // toPoints
const ofResult = bothWays(6, 4, 13) // fromPoints
const ofGradient = bothWays(4, 6, 10) // gradientToPoints
const ofTaps = bothWays(3, 6, 11) // tapsToPoints
const ofTapGradients = bothWays(6, 3, 12) // tapsFromPoints

/** Whether a kernel multiplies by it. */
export const isWinograd = (kernel: Kernel): boolean =>
  (isConvolution(kernel) && kernel.algorithm === 1) ||
  (kernel.kind === 'reorderWeights' && isTransformed(layouts[kernel.destinationLayout]!))

/**
 * Operations of the transforms of a kernel for which isWinograd, each tile of a channel, or pair of
 * channels, transformed once; 0 of any other.
 */
export const transformOperations = (kernel: Kernel): number => {
  if (!isWinograd(kernel)) return 0
  switch (kernel.kind) {
    case 'convolutionForward':
      return tiles(kernel.batch, kernel.outHeight, kernel.outWidth) * (kernel.inChannels * ofWindow + kernel.outChannels * ofResult)
    case 'convolutionBackwardData':
      return tiles(kernel.batch, kernel.inHeight, kernel.inWidth) * (kernel.outChannels * ofWindow + kernel.inChannels * ofResult)
    case 'convolutionBackwardWeights': {
      const { batch, outHeight, outWidth, inChannels, outChannels } = kernel
      const ofTiles = tiles(batch, outHeight, outWidth) * (inChannels * ofWindow + outChannels * ofGradient)
      return ofTiles + inChannels * outChannels * ofTapGradients
    }
    case 'reorderWeights':
      return kernel.inChannels * kernel.outChannels * ofTaps
    default:
      return 0
  }
}
