import type { ConvolutionAlgorithm, DeviceModel } from './device-model'
import { keyOfKernel, type ConvolutionKernel } from './kernels'
import { memoised } from './lazily'

/** Field `algorithm` of cuDNN's algorithm number n. */
export const cudnnAlgorithm = (n: number): number => 16 + n

/** Field `algorithm` of a backward-data convolution as a forward one with turned weights, by cuDNN's forward algorithm number n. */
export const turnedAlgorithm = (n: number): number => 32 + n

export const isTurned = ({ algorithm }: ConvolutionAlgorithm): boolean => algorithm >= turnedAlgorithm(0)

/** cuDNN's Winograd and FFT algorithms, by its own numbers: they round differently than sums of products. */
const transforming: { readonly [K in ConvolutionKernel['kind']]: readonly number[] } = {
  convolutionForward: [4, 5, 6, 7],
  convolutionBackwardData: [2, 3, 4, 5],
  convolutionBackwardWeights: [2, 4, 5, 6]
}

const isExact = (kind: ConvolutionKernel['kind'], { algorithm }: ConvolutionAlgorithm): boolean =>
  algorithm !== 1 &&
  !transforming[kind].some((n) => cudnnAlgorithm(n) === algorithm) &&
  !transforming.convolutionForward.some((n) => turnedAlgorithm(n) === algorithm)

/** The device without what rounds differently than sums of products: Winograd, and algorithms by Winograd or Fourier transforms. */
export const withExactKernels = (device: DeviceModel): DeviceModel => {
  const { algorithms } = device
  return {
    ...device,
    winograd: () => false,
    ...(algorithms && { algorithms: (kernel) => algorithms(kernel).filter((one) => isExact(kernel.kind, one)) })
  }
}

/** The device with its algorithms, 0 among them, by predicted time; its heuristics decide between equals. Answers are remembered. */
export const withFastestFirst = (device: DeviceModel): DeviceModel => {
  const { algorithms } = device
  if (algorithms === undefined) return device
  const all = (kernel: ConvolutionKernel): readonly ConvolutionAlgorithm[] => {
    const listed = algorithms(kernel)
    const isThere = listed.some(({ algorithm }) => algorithm === 0)
    return isThere ? listed : [...listed, { algorithm: 0, scratchBytes: device.scratchBytes(kernel) }]
  }
  return {
    ...device,
    algorithms: memoised(keyOfKernel, (kernel: ConvolutionKernel) =>
      all(kernel)
        .map((one) => ({ one, milliseconds: device.milliseconds({ ...kernel, algorithm: one.algorithm }) }))
        .sort((a, b) => a.milliseconds - b.milliseconds)
        .map(({ one }) => one)
    )
  }
}
