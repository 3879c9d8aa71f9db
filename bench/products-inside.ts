import { isConvolution, productFlops, type Kernel } from '../staging'

type Axis = Readonly<Record<'in' | 'out' | 'kernel' | 'stride' | 'dilation' | 'padBefore', number>>

/** Pairs of a result and a tap along an axis that read no padding. */
const pairsInside = ({ in: extent, out, kernel, stride, dilation, padBefore }: Axis): number =>
  Array.from({ length: kernel }, (_, tap) => {
    const shift = padBefore - tap * dilation
    const [first, last] = [Math.max(0, Math.ceil(shift / stride)), Math.min(out - 1, Math.floor((extent - 1 + shift) / stride))]
    return Math.max(0, last - first + 1)
  }).reduce((sum, count) => sum + count, 0)

const shareInside = (axis: Axis): number => pairsInside(axis) / (axis.out * axis.kernel)

/**
 * Floating-point operations of a kernel's products, without those of a direct convolution that read
 * padding: by dilations of half an image they are most.
 */
export const flopsInside = (kernel: Kernel): number => {
  const flops = productFlops(kernel)
  if (!isConvolution(kernel)) return flops
  const k = kernel
  const rows = { in: k.inHeight, out: k.outHeight, kernel: k.kernelHeight, stride: k.strideHeight, dilation: k.dilationHeight }
  const columns = { in: k.inWidth, out: k.outWidth, kernel: k.kernelWidth, stride: k.strideWidth, dilation: k.dilationWidth }
  return flops * shareInside({ ...rows, padBefore: k.padTop }) * shareInside({ ...columns, padBefore: k.padLeft })
}
