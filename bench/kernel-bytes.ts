import { roofline, type Kernel } from '../staging'
import { layouts, weightElements } from '../staging/kernels/layout'
import { elementSizes } from '../staging/kernels/precision'

/** A byte a millisecond, so that time is bytes. */
const bytesAlone = { flopsPerSecond: Infinity, bytesPerSecond: 1000, launchSeconds: 0 }

/** Bytes that a kernel must read and write once. */
export const kernelBytes = (kernel: Kernel, precision: 'float32' | 'bf16'): number => {
  if (kernel.kind === 'reorderWeights') {
    // Transformed by Winograd they are four times as many or seven, which the roofline leaves out.
    const { outChannels, inChannels, kernelHeight, kernelWidth, groups } = kernel
    const elements = [kernel.sourceLayout, kernel.destinationLayout].map((layout) =>
      weightElements(layouts[layout]!, [outChannels, inChannels / groups, kernelHeight, kernelWidth], groups)
    )
    return 4 * (elements[0]! + elements[1]!)
  }
  return Math.round(roofline(kernel, elementSizes(precision), bytesAlone))
}

/** A copy of so many bytes in all, read and written, each element 4. */
export const copyOf = (bytes: number): Kernel => {
  const floats = Math.max(1, Math.round(bytes / 8))
  return {
    ...{ kind: 'copyBox', n0: 1, n1: 1, n2: 1, n3: floats, add: 0, ofParameters: 1 },
    ...{ sourceStride0: floats, sourceStride1: floats, sourceStride2: floats },
    ...{ destinationStride0: floats, destinationStride1: floats, destinationStride2: floats }
  }
}
