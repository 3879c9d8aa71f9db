import { isEngine, isFourier, isOwnKernel, isRotated180 } from './algorithms'
import { type ConvolutionAlgorithm, type DeviceModel, type LinkRates } from './device-model'
import { memoize } from '../memoize'
import { isConvolution, keyOfKernel, type ConvolutionKernel, type KernelOf } from '../kernels/kernels'
import type { Layout } from '../kernels/layout'
import { elementSizes, storedPrecision, type DevicePrecision } from '../kernels/precision'
import { roofline, type Rates } from '../kernels/roofline'

/** Layouts of all activations, and of the weights of all convolutions. */
interface GpuLayouts {
  readonly input: Layout
  readonly activation: Layout
  readonly weights: { readonly forward: Layout; readonly backwardData: Layout }
}

/** The precisions that the cuda device computes in. */
export type GpuPrecision = Exclude<DevicePrecision, 'float64'>

/**
 * The questions that staging asks of a GPU: cuDNN's heuristics and workspaces, of one convolution
 * at a time.
 */
export interface GpuAnswers {
  readonly precision: GpuPrecision
  readonly rates: Rates
  readonly layouts: GpuLayouts
  /**
   * Returns the algorithms that compute a convolution (given with algorithm 0) beside that one,
   * fastest first; none where it is refused.
   */
  readonly algorithms: (kernel: ConvolutionKernel) => readonly ConvolutionAlgorithm[]
  /**
   * Returns the bytes of scratch of a convolution by its algorithm; undefined where it is refused.
   */
  readonly scratchBytes: (kernel: ConvolutionKernel) => number | undefined
}

/**
 * Share of time that each place further down in cuDNN's list of the fastest is taken to cost more;
 * the list has no times.
 */
const perPlace = 0.15

/**
 * Elements of a tensor that cuDNN's fast engines count. Others take more, but on an H200 VGG-16 at
 * 20480x20480 with such convolutions had not ended a step of 5 s after 45; without, images of
 * 8192x8192 took what was predicted.
 */
const countedElements = 2 ** 31

/** Bytes of cuDNN's loads: it refuses tensors that begin elsewhere than at multiples. */
const vectorBytes = 16

/**
 * An extent down to its three leading binary digits: of every four sizes of an octave, one stands
 * for all up to the next.
 */
const coarse = (extent: number): number => extent - (extent % 2 ** Math.max(0, Math.floor(Math.log2(extent)) - 2))

/**
 * Returns one axis of a convolution with a coarse output, and without padding that differs on both
 * sides: what is fastest hardly depends on it.
 */
const coarseAxis = (extent: number, window: number, stride: number, before: number, after: number) => {
  const out = coarse(extent)
  const reach = (out - 1) * stride + window
  const padding = before === after && 2 * before < reach ? before : 0
  return { out, padding, in: reach - 2 * padding }
}

/**
 * The convolution whose algorithms serve for this one and all of about its size: cuDNN takes a
 * millisecond to list them, and tiles have thousands of sizes.
 */
export const representative = (kernel: ConvolutionKernel): ConvolutionKernel => {
  const { outHeight, outWidth, kernelHeight, kernelWidth, dilationHeight, dilationWidth, strideHeight, strideWidth } = kernel
  const rows = coarseAxis(outHeight, (kernelHeight - 1) * dilationHeight + 1, strideHeight, kernel.padTop, kernel.padBottom)
  const columns = coarseAxis(outWidth, (kernelWidth - 1) * dilationWidth + 1, strideWidth, kernel.padLeft, kernel.padRight)
  return {
    ...kernel,
    ...('slope' in kernel && { slope: 1 }),
    algorithm: 0,
    batch: coarse(kernel.batch),
    inHeight: rows.in,
    inWidth: columns.in,
    outHeight: rows.out,
    outWidth: columns.out,
    padTop: rows.padding,
    padBottom: rows.padding,
    padLeft: columns.padding,
    padRight: columns.padding
  }
}

/**
 * Whether cuDNN reads one axis as it lies. Its engines pad each side for itself, where windows
 * begin before the tensor and end a stride before its end at most; its older algorithms pad alike
 * on both sides, so that the padding before must serve behind too.
 */
const isReadInPlace = (engine: boolean, extent: number, out: number, window: number, stride: number, before: number): boolean => {
  const needed = (out - 1) * stride + window
  if (engine) return before >= 0 && needed - extent - before > -stride
  const slack = extent + 2 * before - window
  return before >= 0 && slack >= 0 && Math.floor(slack / stride) + 1 === out
}

/**
 * Whether the source of a convolution, or its gradient, goes through a copy: cuDNN reads no plain
 * image into channels that lie innermost, and not every padding. Tilefold's own kernels do.
 */
const isCopied = (k: ConvolutionKernel): boolean =>
  !isOwnKernel(k) &&
  (k.sourceLayout !== k.destinationLayout ||
    !isReadInPlace(isEngine(k), k.inHeight, k.outHeight, (k.kernelHeight - 1) * k.dilationHeight + 1, k.strideHeight, k.padTop) ||
    !isReadInPlace(isEngine(k), k.inWidth, k.outWidth, (k.kernelWidth - 1) * k.dilationWidth + 1, k.strideWidth, k.padLeft))

const isTooLarge = (k: ConvolutionKernel): boolean =>
  !isOwnKernel(k) && k.batch * Math.max(k.inChannels * k.inHeight * k.inWidth, k.outChannels * k.outHeight * k.outWidth) >= countedElements

/** Bytes of the winners' places in their windows; 255 stands for a window of padding alone. */
const maxPoolIndicesBytes = (kernel: KernelOf<'maxPoolForward'>): number => {
  const { batch, inChannels, outHeight, outWidth, kernelHeight, kernelWidth } = kernel
  return batch * inChannels * outHeight * outWidth * (kernelHeight * kernelWidth <= 255 ? 1 : 4)
}

/** Returns a kernel without its rectifier, on which its bytes of scratch do not depend. */
export const withoutRectifier = (kernel: ConvolutionKernel): ConvolutionKernel => ('slope' in kernel ? { ...kernel, slope: 1 } : kernel)

/**
 * The cuda device by what its addon, or a recording, answers. Which algorithms a convolution has is
 * asked of its representative, whose bytes of scratch decide what fits a workspace; what a kernel
 * then takes is asked of itself.
 */
export const gpuModel = (
  { precision: computed, rates, layouts, ...ask }: GpuAnswers,
  { threads, linkBytesPerSecond }: { readonly threads: number; readonly linkBytesPerSecond: LinkRates }
): DeviceModel => {
  const precision = storedPrecision(computed)
  const exact = memoize(keyOfKernel, ask.scratchBytes)
  const scratchBytes = (kernel: ConvolutionKernel): number | undefined => (isTooLarge(kernel) ? undefined : exact(withoutRectifier(kernel)))
  const listed = memoize(keyOfKernel, (kernel: ConvolutionKernel): readonly ConvolutionAlgorithm[] => {
    const found = ask.algorithms(kernel).filter(({ algorithm }) => !isTooLarge({ ...kernel, algorithm }))
    const direct = { algorithm: 0, scratchBytes: scratchBytes(kernel) ?? Infinity }
    // A measurement alone tells where turned weights are faster.
    const [own, turned] = [found.filter((one) => !isRotated180(one)), found.filter(isRotated180)]
    // By Fourier transforms: far slower on an H200 than their places in cuDNN's list say.
    const [others, late] = [own.filter((one) => !isFourier(kernel.kind, one)), own.filter((one) => isFourier(kernel.kind, one))]
    return [...others, ...late, direct, ...turned]
  })
  const algorithms = memoize(keyOfKernel, (kernel: ConvolutionKernel) => listed(representative(kernel)))
  /** Returns the factor by which a convolution takes longer than the fastest for its shape. */
  const slowness = (kernel: ConvolutionKernel): number => {
    const all = algorithms({ ...withoutRectifier(kernel), algorithm: 0 })
    const place = all.findIndex(({ algorithm }) => algorithm === kernel.algorithm)
    return 1 + perPlace * (place === -1 ? all.length : place)
  }
  /** Milliseconds of the copy that a convolution at the image's border makes of its source. */
  const copyMilliseconds = (kernel: ConvolutionKernel): number => {
    if (!isCopied(kernel)) return 0
    const { batch, inChannels, inHeight, inWidth } = kernel
    const bytes = 2 * batch * inChannels * inHeight * inWidth * elementSizes(precision).activationBytes
    return 1000 * (bytes / rates.bytesPerSecond + rates.launchSeconds)
  }
  return {
    name: 'cuda',
    precision,
    threads,
    activationLayout: (_, input) => (input ? layouts.input : layouts.activation),
    weightLayouts: () => ({ stored: layouts.weights.forward, ...layouts.weights }),
    winograd: () => false,
    normaliseOnLoad: () => false,
    indicesBytes: (kernel) => (kernel.kind === 'maxPoolForward' ? maxPoolIndicesBytes(kernel) : 0),
    viewAlignment: vectorBytes,
    algorithms,
    scratchBytes: (kernel) => (isConvolution(kernel) ? scratchBytes(kernel) : 0),
    milliseconds: (kernel) => {
      const fastest = roofline(kernel, elementSizes(precision), rates)
      return isConvolution(kernel) ? fastest * slowness(kernel) + copyMilliseconds(kernel) : fastest
    },
    linkBytesPerSecond
  }
}
