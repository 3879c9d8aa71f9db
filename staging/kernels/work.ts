import { operations } from '../../dsl/internal'
import { activationElements, layouts, weightElements, type LargestTile, type Layout } from './layout'
import type { ConvolutionKernel, Kernel, KernelOf } from './kernels'
import { stepNumbers } from '../pointwise/encode'
import { largestTile, readsStoredWeights, winogradProducts } from './winograd-products'

/** Products of matrices, [rows, depth] by [depth, columns], so many of them. */
export interface Products {
  readonly rows: number
  readonly columns: number
  readonly count: number
  /** Whether several multiprocessors may share the depth, as of gradients of weights. */
  readonly isDepthShared: boolean
}

/** What a launch computes and moves. */
export interface Work {
  /** Floating-point operations. */
  readonly flops: number
  /** The products that they are, where they are products. */
  readonly products?: Products
  /** Elements of activations read and written, and of the weights that products read. */
  readonly elements: number
  /** Elements of parameters, and of what else has their type. */
  readonly parameters?: number
}

const decodeLayout = (code: number): Layout => layouts[code]!

type Convolution = Omit<KernelOf<'convolutionBackwardData'>, 'kind'>
type Pool = Omit<KernelOf<'maxPoolForward'>, 'kind'>
type Tile = { readonly batch: number; readonly channels: number; readonly height: number; readonly width: number; readonly layout: number }
type Resampled = Omit<KernelOf<'adaptivePoolForward'>, 'kind'>
type Linear = KernelOf<'linearForward' | 'linearBackwardData' | 'linearBackwardWeights'>

/**
 * How much longer convolutions by Winograd take than their products: transforms leave 2.8 of the 4
 * times that F(4x4, 3x3) gains, and 3.2 of the 5.1 of F(6x6, 3x3) (native/test/winograd_bench.cpp).
 */
const withTransforms: { readonly [L in LargestTile]: number } = { 4: 4 / 2.8, 6: 81 / 16 / 3.2 }

/**
 * The transform of a pair of channels' taps takes as long as so many operations of products, where
 * a kernel by Winograd does that itself (native/test/winograd_bench.cpp).
 */
const flopsOfTaps = 600

/** As products of matrices (Chetlur 2014) whose rows are pixels, or a weight's outputs. */
const productsOf: { readonly [P in ConvolutionKernel['kind']]: (k: Convolution) => Products } = {
  convolutionForward: (k) => ({
    rows: k.batch * k.outHeight * k.outWidth,
    columns: k.outChannels / k.groups,
    count: k.groups,
    isDepthShared: false
  }),
  convolutionBackwardData: (k) => ({
    rows: k.batch * k.inHeight * k.inWidth,
    columns: k.inChannels / k.groups,
    count: k.groups,
    isDepthShared: false
  }),
  convolutionBackwardWeights: (k) => ({
    rows: k.outChannels / k.groups,
    columns: (k.inChannels / k.groups) * k.kernelHeight * k.kernelWidth,
    count: k.groups,
    isDepthShared: true
  })
}

const convolution = (k: ConvolutionKernel): Work => {
  const weights = weightElements(
    decodeLayout(k.weightLayout),
    [k.outChannels, k.inChannels / k.groups, k.kernelHeight, k.kernelWidth],
    k.groups
  )
  const outputs = k.batch * k.outChannels * k.outHeight * k.outWidth
  const largest = k.algorithm === 1 ? largestTile(k) : undefined
  return {
    flops:
      largest !== undefined
        ? k.inChannels *
          k.outChannels *
          (2 * winogradProducts(k, largest) * withTransforms[largest] + (readsStoredWeights(k) ? flopsOfTaps : 0))
        : 2 * outputs * (k.inChannels / k.groups) * k.kernelHeight * k.kernelWidth,
    products: productsOf[k.kind](k),
    elements: k.batch * k.inChannels * k.inHeight * k.inWidth + weights + outputs
  }
}

/** As the convolution alone, which reads and writes as much; normalising passes the caches only. */
const normalisedConvolution = (k: KernelOf<'normalisedConvolutionForward' | 'normalisedConvolutionBackwardWeights'>): Work => {
  const pixels = k.batch * k.height * k.width
  const isForward = k.kind === 'normalisedConvolutionForward'
  return {
    flops: pixels * k.channels * (2 * k.outChannels + 4),
    products: {
      rows: isForward ? pixels : k.outChannels,
      columns: isForward ? k.outChannels : k.channels,
      count: 1,
      isDepthShared: !isForward
    },
    elements: pixels * (k.channels + k.outChannels) + k.channels * k.outChannels
  }
}

const pool = (k: Pool): Work => {
  const outputs = k.batch * k.inChannels * k.outHeight * k.outWidth
  return { flops: outputs * k.kernelHeight * k.kernelWidth, elements: k.batch * k.inChannels * k.inHeight * k.inWidth + outputs }
}

const tile =
  (passes: number) =>
  (k: Tile): Work => {
    const elements = activationElements(decodeLayout(k.layout), [k.batch, k.channels, k.height, k.width])
    return { flops: elements, elements: passes * elements }
  }

/** An exponential takes about as many operations. */
const exponential = 20
const smooth =
  (passes: number) =>
  (k: Tile): Work => {
    const { elements } = tile(1)(k)
    return { flops: exponential * elements, elements: passes * elements }
  }

/**
 * Operations of floating point for each operation of an expression: those of the mathematics
 * library cost about as much as an exponential, and others one each.
 */
const operationFlops = operations.map((operation) =>
  ['exp', 'expm1', 'log', 'log1p', 'tanh', 'erf', 'sigmoid'].includes(operation) ? exponential : 1
)
const expressionFlops =
  (passes: number) =>
  (k: Tile & { readonly expression: readonly number[] }): Work => {
    const { elements } = tile(1)(k)
    const perElement = k.expression.reduce((sum, code, place) => sum + (place % stepNumbers === 0 ? operationFlops[code]! : 0), 0)
    return { flops: perElement * elements, elements: passes * elements }
  }

const linear = (k: Linear): Work => ({
  flops: 2 * k.batch * k.inFeatures * k.outFeatures,
  products: {
    rows: k.kind === 'linearBackwardWeights' ? k.outFeatures : k.batch,
    columns: k.kind === 'linearForward' ? k.outFeatures : k.inFeatures,
    count: 1,
    isDepthShared: true
  },
  elements: k.inFeatures * k.outFeatures + k.batch * (k.inFeatures + k.outFeatures)
})

const launchedWork =
  (passes: number) =>
  ({ count }: { readonly count: number }): Work => ({ flops: passes * count, elements: passes * count })

const ofParameters =
  (passes: number) =>
  ({ count }: { readonly count: number }): Work => ({ flops: passes * count, elements: 0, parameters: passes * count })

const rows =
  (passes: number) =>
  (k: { readonly batch: number; readonly classes: number }): Work => ({
    flops: 4 * k.batch * k.classes,
    elements: passes * k.batch * k.classes
  })

/** `taps`: inputs that an output is made of. */
const resampled =
  (taps: (k: Resampled) => number) =>
  (k: Resampled): Work => {
    const outputs = k.batch * k.channels * k.outHeight * k.outWidth
    return { flops: 2 * taps(k) * outputs, elements: k.batch * k.channels * k.inHeight * k.inWidth + outputs }
  }
const resized = (k: Resampled & { readonly bilinear: number }): Work => resampled(() => (k.bilinear === 1 ? 4 : 1))(k)
const padded = resampled(() => 1)
const adaptive = resampled((k) => (Math.ceil(k.fullInHeight / k.fullOutHeight) + 1) * (Math.ceil(k.fullInWidth / k.fullOutWidth) + 1))

const copiedWeights = (k: KernelOf<'reorderWeights' | 'sliceWeights'>): Work => ({
  flops: 0,
  elements: 0,
  parameters: (2 * k.outChannels * k.inChannels * k.kernelHeight * k.kernelWidth) / k.groups
})

/** The work of each kernel, one row each: what it computes and moves. */
const work: { readonly [P in Kernel['kind']]: (kernel: KernelOf<P>) => Work } = {
  convolutionForward: convolution,
  convolutionBackwardData: convolution,
  convolutionBackwardWeights: convolution,
  reorderWeights: copiedWeights,
  sliceWeights: copiedWeights,
  reorderActivation: (k) => ({ flops: 0, elements: 2 * k.batch * k.channels * k.height * k.width }),
  rectifierForward: launchedWork(2),
  rectifierBackward: launchedWork(3),
  maxPoolForward: pool,
  maxPoolBackward: pool,
  averagePoolForward: pool,
  averagePoolBackward: pool,
  globalAveragePoolForward: tile(1),
  globalAveragePoolBackward: tile(1),
  linearForward: linear,
  linearBackwardData: linear,
  linearBackwardWeights: linear,
  dropout: tile(2),
  softmaxCrossEntropyForward: rows(1),
  softmaxCrossEntropyBackward: rows(2),
  meanSquaredErrorForward: tile(2),
  meanSquaredErrorBackward: tile(3),
  resizeForward: resized,
  resizeBackward: resized,
  adaptivePoolForward: adaptive,
  adaptivePoolBackward: adaptive,
  padForward: padded,
  padBackward: padded,
  pixelShuffle: (k) => ({
    flops: 0,
    elements: k.batch * k.channels * (k.height * k.width + k.factor ** 2 * k.coarseHeight * k.coarseWidth)
  }),
  channelShuffle: tile(2),
  // Each written, and each that both have read.
  shiftChannels: (k) => ({
    flops: 0,
    elements: k.batch * k.height * k.width * (k.channels + Math.min(k.channels, k.sourceChannels))
  }),
  globalMaxPoolForward: tile(1),
  globalMaxPoolBackward: tile(1),
  mergeMaxima: ({ rows, parts }) => ({ flops: 0, elements: rows, parameters: 4 * rows * (parts + 1) }),
  addBias: tile(2),
  sumBias: tile(1),
  pixelCrossEntropyForward: smooth(1),
  pixelCrossEntropyBackward: smooth(2),
  classLossForward: expressionFlops(1),
  classLossBackward: expressionFlops(2),
  sumOverlaps: smooth(1),
  overlapLoss: ({ images, channels }) => ({ flops: 10 * images * channels, elements: 0, parameters: 6 * images * channels }),
  valueLossForward: expressionFlops(2),
  valueLossBackward: expressionFlops(3),
  argmaxChannels: tile(1),
  momentsForward: tile(1),
  mergeMoments: ({ rows, parts }) => ({ flops: 0, elements: 0, parameters: 6 * rows * (parts + 1) }),
  addSums: ({ count, parts }) => ({ flops: 0, elements: 0, parameters: 2 * count * (parts + 1) }),
  momentsOfRunning: ({ channels }) => ({ flops: 0, elements: 0, parameters: 8 * channels }),
  updateRunning: ({ channels }) => ({ flops: 0, elements: 0, parameters: 10 * channels }),
  normaliseForward: tile(2),
  normaliseBackwardReduce: tile(2),
  normaliseParameters: ({ images, channels }) => ({ flops: 0, elements: 0, parameters: (4 * images + 2) * channels }),
  normaliseBackward: (k) => tile(k.add === 1 ? 4 : 3)(k),
  normalisedConvolutionForward: normalisedConvolution,
  normalisedConvolutionBackwardWeights: normalisedConvolution,
  addForward: launchedWork(3),
  copyChannels: (k) => ({ flops: 0, elements: (k.add === 1 ? 3 : 2) * k.batch * k.count * k.height * k.width }),
  pointwiseForward: expressionFlops(2),
  pointwiseBackward: expressionFlops(3),
  pointwiseSum: expressionFlops(2),
  copyBox: (k) => {
    const [read, boxes] = [k.n0, k.destinationStride0 === 0 ? 1 : k.n0]
    const moved = (read + (k.add === 1 ? 2 : 1) * boxes) * k.n1 * k.n2 * k.n3
    return k.ofParameters === 1 ? { flops: 0, elements: 0, parameters: moved } : { flops: 0, elements: moved }
  },
  packTile: tile(2),
  unpackAddTile: tile(3),
  zero: ({ bytes }) => ({ flops: 0, elements: 0, parameters: bytes / 4 }),
  loadImage: tile(2),
  sgd: ofParameters(5),
  adam: ofParameters(7),
  sumSquares: ofParameters(1),
  clipGradient: ofParameters(2),
  squareRoot: ofParameters(2),
  castWeights: (k) => {
    const count = (k.outChannels * k.inChannels * k.kernelHeight * k.kernelWidth) / k.groups
    return { flops: 0, elements: count, parameters: count }
  }
}

/** What a launch of a kernel computes and moves. */
export const workOf = (kernel: Kernel): Work => (work[kernel.kind] as (kernel: Kernel) => Work)(kernel)

/**
 * Floating-point operations of a convolution or a linear layer by direct kernels; none of anything
 * else.
 */
export const productFlops = (kernel: Kernel): number => {
  switch (kernel.kind) {
    case 'convolutionForward':
    case 'convolutionBackwardData':
    case 'convolutionBackwardWeights':
      return convolution({ ...kernel, algorithm: 0 }).flops
    case 'normalisedConvolutionForward':
    case 'normalisedConvolutionBackwardWeights':
      return 2 * kernel.batch * kernel.height * kernel.width * kernel.channels * kernel.outChannels
    case 'linearForward':
    case 'linearBackwardData':
    case 'linearBackwardWeights':
      return linear(kernel).flops
    default:
      return 0
  }
}
