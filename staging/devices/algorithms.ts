import type { ConvolutionAlgorithm, DeviceModel } from './device-model'
import { keyOfKernel, type ConvolutionKernel } from '../kernels/kernels'
import { memoize } from '../memoize'

/**
 * Field `algorithm` of a GPU's own convolution over few channels, and of the gradient of its
 * weights.
 */
export const fewChannelsAlgorithm = 2

/**
 * Field `algorithm` of a GPU's own gradient of the weights of 3 x 3 convolutions, whose blocks
 * share the rows of the source and need scratch to add their sums.
 */
export const warpgroupAlgorithm = 3

/** The same, where each block goes through all rows: it needs no scratch. */
export const wholeWarpgroupAlgorithm = 4

/** Tells whether a convolution runs by a GPU kernel of Tilefold's own, in the place of cuDNN's. */
export const isOwnKernel = ({ algorithm }: Pick<ConvolutionAlgorithm, 'algorithm'>): boolean =>
  algorithm >= fewChannelsAlgorithm && algorithm <= wholeWarpgroupAlgorithm

/** Field `algorithm` of cuDNN's algorithm number n. */
export const cudnnAlgorithm = (n: number): number => 16 + n

/**
 * Field `algorithm` of a backward-data convolution as a forward one with turned weights, by cuDNN's
 * forward algorithm number n.
 */
export const rotated180Algorithm = (n: number): number => 32 + n

const engineBase = 2 ** 32

/**
 * Tells whether a convolution runs by an engine of cuDNN's graphs, which sum products as they
 * stand.
 */
export const isEngine = ({ algorithm }: Pick<ConvolutionAlgorithm, 'algorithm'>): boolean => algorithm >= engineBase

/**
 * The number of the engine of cuDNN's graphs that field `algorithm` names; undefined where it names
 * none.
 */
export const engineOf = (algorithm: number): number | undefined =>
  isEngine({ algorithm }) ? Math.floor(algorithm / engineBase) - 1 : undefined

/** Tells whether a backward-data convolution runs as a forward one with turned weights. */
export const isRotated180 = (one: ConvolutionAlgorithm): boolean => one.algorithm >= rotated180Algorithm(0) && !isEngine(one)

/**
 * cuDNN's algorithms by Fourier transforms and by Winograd, by its own numbers: they round
 * differently than sums of products.
 */
const transforming: {
  readonly [K in ConvolutionKernel['kind']]: { readonly fourier: readonly number[]; readonly winograd: readonly number[] }
} = {
  convolutionForward: { fourier: [4, 5], winograd: [6, 7] },
  convolutionBackwardData: { fourier: [2, 3], winograd: [4, 5] },
  convolutionBackwardWeights: { fourier: [2, 6], winograd: [4, 5] }
}

/** Tells whether a convolution runs by Fourier transforms of cuDNN. */
export const isFourier = (kind: ConvolutionKernel['kind'], { algorithm }: ConvolutionAlgorithm): boolean =>
  transforming[kind].fourier.some((n) => cudnnAlgorithm(n) === algorithm)

const isExact = (kind: ConvolutionKernel['kind'], { algorithm }: ConvolutionAlgorithm): boolean => {
  const [own, turned] = [kind, 'convolutionForward' as const].map((one) => Object.values(transforming[one]).flat())
  return algorithm !== 1 && !own!.some((n) => cudnnAlgorithm(n) === algorithm) && !turned!.some((n) => rotated180Algorithm(n) === algorithm)
}

/**
 * The device without what rounds differently than sums of products: Winograd, and algorithms by
 * Winograd or Fourier transforms.
 */
export const withExactKernels = (device: DeviceModel): DeviceModel => {
  const { algorithms } = device
  return {
    ...device,
    winograd: () => false,
    normaliseOnLoad: () => false,
    ...(algorithms && { algorithms: (kernel) => algorithms(kernel).filter((one) => isExact(kernel.kind, one)) })
  }
}

/**
 * The device with its algorithms, 0 among them, by predicted time; its heuristics decide between
 * equals. Answers are remembered.
 */
export const withFastestFirst = (device: DeviceModel): DeviceModel => {
  const { algorithms } = device
  if (algorithms === undefined) return device
  const all = (kernel: ConvolutionKernel): readonly ConvolutionAlgorithm[] => {
    const listed = algorithms(kernel)
    const isThere = listed.some(({ algorithm }) => algorithm === 0)
    return isThere ? listed : [...listed, { algorithm: 0, scratchBytes: device.scratchBytes(kernel) ?? Infinity }]
  }
  return {
    ...device,
    algorithms: memoize(keyOfKernel, (kernel: ConvolutionKernel) =>
      all(kernel)
        .map((one) => ({ one, milliseconds: device.milliseconds({ ...kernel, algorithm: one.algorithm }) }))
        .sort((a, b) => a.milliseconds - b.milliseconds)
        .map(({ one }) => one)
    )
  }
}

/**
 * The device as plans are made for it: its algorithms fastest first, and where kernels must be
 * exact none that rounds differently.
 */
export const planningDevice = (device: DeviceModel, exactKernels: boolean | undefined): DeviceModel =>
  withFastestFirst(exactKernels === true ? withExactKernels(device) : device)
