import { isConvolution, type Kernel } from './kernels'

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
 * Floating-point operations of a direct convolution that read padding, 0 of anything else: by
 * dilations of half an image they are most.
 */
export const paddingFlops = (k: Kernel): number => {
  if (!isConvolution(k) || k.algorithm === 1) return 0
  const rows = { in: k.inHeight, out: k.outHeight, kernel: k.kernelHeight, stride: k.strideHeight, dilation: k.dilationHeight }
  const columns = { in: k.inWidth, out: k.outWidth, kernel: k.kernelWidth, stride: k.strideWidth, dilation: k.dilationWidth }
  const inside = pairsInside({ ...rows, padBefore: k.padTop }) * pairsInside({ ...columns, padBefore: k.padLeft })
  const padding = k.outHeight * k.kernelHeight * k.outWidth * k.kernelWidth - inside
  return 2 * k.batch * (k.inChannels / k.groups) * k.outChannels * padding
}
