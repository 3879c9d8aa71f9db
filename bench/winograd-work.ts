/**
 * The arithmetic of Winograd's F(4x4, 3x3) and F(6x6, 3x3): their products, and beside these the
 * vector operations of transforms as native/src/cpu/winograd/loops.cpp has them, an addition,
 * product or multiply-add each one.
 */
import { isConvolution, readsStoredWeights, type ConvolutionKernel, type Kernel } from '../staging'
import { isTransformed, layouts, tileOf, type LargestTile } from '../staging/kernels/layout'
import { largestTile } from '../staging/kernels/winograd-products'

/** Of a separable transform of a square: its columns first, then the rows that come of them. */
const bothWays = (from: number, to: number, operations: number): number => (from + to) * operations

/** The operations of transforms: of what tiles read and make, and of a pair of channels' taps. */
const transforms: {
  readonly [L in LargestTile]: { readonly [T in 'window' | 'result' | 'gradient' | 'taps' | 'tapGradients']: number }
} = {
  4: {
    window: bothWays(6, 6, 12),
    result: bothWays(6, 4, 13),
    gradient: bothWays(4, 6, 8),
    taps: bothWays(3, 6, 9),
    tapGradients: bothWays(6, 3, 12)
  },
  6: {
    window: bothWays(8, 8, 24),
    result: bothWays(8, 6, 25),
    gradient: bothWays(6, 8, 18),
    taps: bothWays(3, 8, 13),
    tapGradients: bothWays(8, 3, 17)
  }
}

/** The whole tiles of a kernel by Winograd, or of weights that are transformed for it. */
const tilesBehind = (kernel: Kernel): LargestTile | undefined => {
  if (isConvolution(kernel)) return kernel.algorithm === 1 ? largestTile(kernel) : undefined
  const layout = kernel.kind === 'reorderWeights' ? layouts[kernel.destinationLayout]! : 'plain'
  return isTransformed(layout) ? tileOf(layout) : undefined
}

/** Whether a kernel multiplies by it. */
export const isWinograd = (kernel: Kernel): boolean => tilesBehind(kernel) !== undefined

/** How many times fewer a kernel's products are by it, where tiles are whole; 1 of any other. */
export const winogradSaving = (kernel: Kernel): number => {
  const largest = tilesBehind(kernel)
  return largest === undefined ? 1 : ((3 * largest) / (largest + 2)) ** 2
}

/**
 * Operations of the transforms of a kernel for which isWinograd, each tile of a channel, or pair of
 * channels, transformed once; 0 of any other.
 */
export const transformOperations = (kernel: Kernel): number => {
  const largest = tilesBehind(kernel)
  if (largest === undefined) return 0
  const { window, result, gradient, taps, tapGradients } = transforms[largest]
  /** As if all were whole. */
  const tiles = (batch: number, height: number, width: number): number => (batch * height * width) / largest ** 2
  /** Where it transforms its weights itself. */
  const ofStored = (k: ConvolutionKernel): number => (readsStoredWeights(k) ? k.inChannels * k.outChannels * taps : 0)
  switch (kernel.kind) {
    case 'convolutionForward': {
      const { batch, outHeight, outWidth, inChannels, outChannels } = kernel
      return tiles(batch, outHeight, outWidth) * (inChannels * window + outChannels * result) + ofStored(kernel)
    }
    case 'convolutionBackwardData': {
      const { batch, inHeight, inWidth, inChannels, outChannels } = kernel
      return tiles(batch, inHeight, inWidth) * (outChannels * window + inChannels * result) + ofStored(kernel)
    }
    case 'convolutionBackwardWeights': {
      const { batch, outHeight, outWidth, inChannels, outChannels } = kernel
      const ofTiles = tiles(batch, outHeight, outWidth) * (inChannels * window + outChannels * gradient)
      return ofTiles + inChannels * outChannels * tapGradients
    }
    case 'reorderWeights':
      return kernel.inChannels * kernel.outChannels * taps
    default:
      return 0
  }
}
