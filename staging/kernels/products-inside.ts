import type { ConvolutionKernel } from './kernels'

type Axis = Readonly<Record<'in' | 'out' | 'kernel' | 'stride' | 'dilation' | 'padBefore', number>>

/** Pairs of a result and a tap along an axis that read no padding. */
const pairsInside = ({ in: extent, out, kernel, stride, dilation, padBefore }: Axis): number => {
  let pairs = 0
  for (let tap = 0; tap < kernel; tap++) {
    const shift = padBefore - tap * dilation
    const [first, last] = [Math.max(0, Math.ceil(shift / stride)), Math.min(out - 1, Math.floor((extent - 1 + shift) / stride))]
    pairs += Math.max(0, last - first + 1)
  }
  return pairs
}

/**
 * Products of a pair of channels in a direct convolution, without those that read padding: by
 * dilations of half an image those are most.
 */
export const productsInside = (k: ConvolutionKernel): number =>
  k.batch *
  pairsInside({
    in: k.inHeight,
    out: k.outHeight,
    kernel: k.kernelHeight,
    stride: k.strideHeight,
    dilation: k.dilationHeight,
    padBefore: k.padTop
  }) *
  pairsInside({
    in: k.inWidth,
    out: k.outWidth,
    kernel: k.kernelWidth,
    stride: k.strideWidth,
    dilation: k.dilationWidth,
    padBefore: k.padLeft
  })
