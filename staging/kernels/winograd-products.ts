import type { ConvolutionKernel } from './kernels'

/**
 * Products along one axis of a pair of channels: tiles of 4 results take 6. Of a dilation d each
 * d-th result is of an axis of its own.
 */
const productsAlong = (extent: number, dilation: number): number => {
  const [longer, fewest] = [extent % dilation, Math.floor(extent / dilation)]
  const tiles = longer * Math.ceil((fewest + 1) / 4) + (dilation - longer) * Math.ceil(fewest / 4)
  return 6 * tiles
}

/** Products of a pair of channels in a convolution by Winograd's F(4x4, 3x3) (Lavin 2016). */
export const winogradProducts = (k: ConvolutionKernel): number => {
  const [height, width] = k.kind === 'convolutionBackwardData' ? [k.inHeight, k.inWidth] : [k.outHeight, k.outWidth]
  return k.batch * productsAlong(height, k.dilationHeight) * productsAlong(width, k.dilationWidth)
}
