import { kernelTable, type Kernel, type KernelKind, type KernelOf, type OperandsOf, type Use } from '../kernels/kernels'
import { activationElements, channelsAreApart, isTransformed, layouts, weightElements } from '../kernels/layout'
import type { ElementSizes } from '../kernels/precision'

/** `count` times, `stride` bytes apart. */
export interface Repeat {
  readonly count: number
  readonly stride: number
}

/** The region of an operand that a kernel touches. */
type Region =
  /**
   * Runs of `run` contiguous bytes, repeated; the outermost repetition first. The first begins
   * `start` bytes (else 0) after the address.
   */
  | { readonly kind: 'bytes'; readonly start?: number; readonly repeats: readonly Repeat[]; readonly run: number }
  /** All of the buffer from here on, as much as the device wants (scratch, indices). */
  | { readonly kind: 'rest' }
  /** A coordinate of 0 .. limit. */
  | { readonly kind: 'index'; readonly limit: number }

/**
 * Elements of activations and of parameters may differ in bytes; what is exchanged has those of
 * parameters.
 */
type Rows = {
  readonly [K in KernelKind]: (
    kernel: KernelOf<K>,
    activationBytes: number,
    parameterBytes: number
  ) => { readonly [O in OperandsOf<K>]: Region }
}

const contiguous = (run: number): Region => ({ kind: 'bytes', repeats: [], run })
const rest: Region = { kind: 'rest' }
const index = (limit: number): Region => ({ kind: 'index', limit })

const activation = (layout: number, [batch, channels, height, width]: readonly [number, number, number, number], elementBytes: number) => {
  const known = layouts[layout]
  return contiguous(known === undefined ? NaN : activationElements(known, [batch, channels, height, width]) * elementBytes)
}

type Tile = Record<'batch' | 'channels' | 'height' | 'width' | 'layout', number>
const tile = ({ batch, channels, height, width, layout }: Tile, elementBytes: number): Region =>
  activation(layout, [batch, channels, height, width], elementBytes)

/** A tile's place in a plain tensor. */
const strided = (
  {
    batch,
    channels,
    height,
    width,
    strideBatch,
    strideChannel,
    strideHeight
  }: Tile & Record<'strideBatch' | 'strideChannel' | 'strideHeight', number>,
  elementBytes: number
): Region => ({
  kind: 'bytes',
  repeats: [
    { count: batch, stride: strideBatch * elementBytes },
    { count: channels, stride: strideChannel * elementBytes },
    { count: height, stride: strideHeight * elementBytes }
  ],
  run: width * elementBytes
})

type Window = Record<'batch' | 'inChannels' | 'inHeight' | 'inWidth' | 'outHeight' | 'outWidth', number>
const windowSource = (k: Window, layout: number, elementBytes: number): Region =>
  activation(layout, [k.batch, k.inChannels, k.inHeight, k.inWidth], elementBytes)
const windowDestination = (k: Window, channels: number, layout: number, elementBytes: number): Region =>
  activation(layout, [k.batch, channels, k.outHeight, k.outWidth], elementBytes)

type Matrices = Record<'outChannels' | 'inChannels' | 'kernelHeight' | 'kernelWidth' | 'groups', number>
const weights = (
  { outChannels, inChannels, kernelHeight, kernelWidth, groups }: Matrices,
  layout: number,
  elementBytes: number
): Region => {
  const known = layouts[layout]
  if (known === undefined) return contiguous(NaN)
  return contiguous(weightElements(known, [outChannels, inChannels / groups, kernelHeight, kernelWidth], groups) * elementBytes)
}

/**
 * Products read weights of the activations' bytes, but those by Winograd of the parameters', as all
 * gradients of weights are.
 */
const convolution = (k: Omit<KernelOf<'convolutionBackwardData'>, 'kind'>, e: number, p: number) => ({
  source: windowSource(k, k.sourceLayout, e),
  destination: windowDestination(k, k.outChannels, k.destinationLayout, e),
  weights: weights(k, k.weightLayout, isTransformed(layouts[k.weightLayout] ?? 'plain') ? p : e),
  weightGradient: weights(k, k.weightLayout, p),
  bias: contiguous(k.outChannels * p)
})

const pool = (k: Window & { readonly layout: number }, elementBytes: number) => ({
  source: windowSource(k, k.layout, elementBytes),
  destination: windowDestination(k, k.inChannels, k.layout, elementBytes)
})

const linear = ({ batch, inFeatures, outFeatures }: Record<'batch' | 'inFeatures' | 'outFeatures', number>, e: number, p: number) => ({
  source: contiguous(batch * inFeatures * e),
  weights: contiguous(outFeatures * inFeatures * e),
  weightGradient: contiguous(outFeatures * inFeatures * p),
  bias: contiguous(outFeatures * p),
  destination: contiguous(batch * outFeatures * e)
})

/** Regions of the operands that an expression reads beside its input. */
const pointwiseOperands = (k: Tile & Record<'broadcast' | 'weightPerChannel' | 'biasPerChannel', number>, e: number, p: number) => ({
  second: k.broadcast === 1 ? contiguous(k.batch * k.channels * e) : tile(k, e),
  weight: contiguous((k.weightPerChannel === 1 ? k.channels : 1) * p),
  bias: contiguous((k.biasPerChannel === 1 ? k.channels : 1) * p)
})

const labelBytes = 4
const doubleBytes = 8
const lossBytes = 2 * doubleBytes

/** Returns the address at which a tile of `Tile` begins in a tensor of the full extents. */
const origin = ({ height, width, fullHeight, fullWidth }: Tile & Record<'fullHeight' | 'fullWidth', number>) => ({
  batchOrigin: index(Infinity),
  rowOrigin: index(fullHeight - height),
  columnOrigin: index(fullWidth - width)
})

/** Returns the maxima that a global max pool gathers, and where its tile begins. */
const maxima = (k: Tile & Record<'fullHeight' | 'fullWidth', number>) => {
  const { rowOrigin, columnOrigin } = origin(k)
  return { maxima: contiguous(k.batch * k.channels * 2 * doubleBytes), rowOrigin, columnOrigin }
}

type Resampled = Record<'batch' | 'channels' | 'inHeight' | 'inWidth' | 'outHeight' | 'outWidth' | 'layout', number> &
  Record<'fullInHeight' | 'fullInWidth' | 'fullOutHeight' | 'fullOutWidth', number>
const resampled = (k: Resampled, elementBytes: number) => ({
  source: activation(k.layout, [k.batch, k.channels, k.inHeight, k.inWidth], elementBytes),
  destination: activation(k.layout, [k.batch, k.channels, k.outHeight, k.outWidth], elementBytes),
  at: {
    sourceRow: index(k.fullInHeight - k.inHeight),
    sourceColumn: index(k.fullInWidth - k.inWidth),
    destinationRow: index(k.fullOutHeight - k.outHeight),
    destinationColumn: index(k.fullOutWidth - k.outWidth)
  }
})
const resampledForward = (k: Resampled, elementBytes: number) => {
  const { source, destination, at } = resampled(k, elementBytes)
  return { source, destination, ...at }
}
const resampledBackward = (k: Resampled, elementBytes: number) => {
  const { source, destination, at } = resampled(k, elementBytes)
  return { destinationGradient: destination, sourceGradient: source, ...at }
}

/** The classes of a tile's pixels, of so many bytes each, in a plane of the full extents. */
const classesOf = (
  { batch, height, width, fullHeight, fullWidth }: Record<'batch' | 'height' | 'width' | 'fullHeight' | 'fullWidth', number>,
  bytes: number
): Region => ({
  kind: 'bytes',
  repeats: [
    { count: batch, stride: fullHeight * fullWidth * bytes },
    { count: height, stride: fullWidth * bytes }
  ],
  run: width * bytes
})

const pixelLoss = (k: Tile & Record<'fullHeight' | 'fullWidth', number>, e: number, p: number) => ({
  source: tile(k, e),
  labels: classesOf(k, labelBytes),
  classWeights: contiguous(k.channels * p),
  normaliser: contiguous(doubleBytes)
})

const valueLoss = (k: Omit<KernelOf<'valueLossForward'>, 'kind'>, e: number, p: number) => ({
  source: tile(k, e),
  target: strided(k, p),
  rowWeights: contiguous(k.batch * p),
  normaliser: contiguous(doubleBytes)
})

/** Returns the sums of each channel of each image. */
const overlapSums = (images: number, channels: number): Region => contiguous(images * channels * 3 * doubleBytes)

type Normalised = Tile & Record<'groups' | 'perImage', number>
/** A row of statistics is of an image by itself or of all. */
const images = ({ batch, perImage }: Normalised): number => (perImage === 1 ? batch : 1)
const moments = (rows: number): Region => contiguous(rows * 3 * doubleBytes)
const gradientSums = (images: number, channels: number): Region => contiguous(images * channels * 2 * doubleBytes)
const normalisation = (k: Normalised, e: number, p: number) => ({
  source: tile(k, e),
  moments: moments(images(k) * k.groups),
  weights: contiguous(k.channels * p),
  bias: contiguous(k.channels * p)
})

type CopyChannels = Omit<KernelOf<'copyChannels'>, 'kind'>
const copiesApart = ({ destinationLayout, destinationChannels, destinationFirst, count }: CopyChannels): boolean => {
  const layout = layouts[destinationLayout]
  return layout !== undefined && channelsAreApart(layout, destinationChannels, destinationFirst, count)
}
/**
 * Returns the region of copied channels; of channels that share blocks with others, no less than
 * the whole tile.
 */
const copiedChannels = (k: CopyChannels, elementBytes: number): Region => {
  const { batch, height, width, count, destinationChannels, destinationFirst, destinationLayout } = k
  const whole = activation(destinationLayout, [batch, destinationChannels, height, width], elementBytes)
  const layout = layouts[destinationLayout]
  if (layout === undefined || !copiesApart(k)) return whole
  if (layout === 'nhwc')
    return {
      kind: 'bytes',
      start: destinationFirst * elementBytes,
      repeats: [{ count: batch * height * width, stride: destinationChannels * elementBytes }],
      run: count * elementBytes
    }
  const bytesOf = (channels: number) => activationElements(layout, [1, channels, height, width]) * elementBytes
  return {
    kind: 'bytes',
    start: bytesOf(destinationFirst),
    repeats: [{ count: batch, stride: bytesOf(destinationChannels) }],
    run: bytesOf(count)
  }
}

/** The regions of each kernel's operands; native/src/program/operand.cpp says the same in C++. */
const rows: Rows = {
  convolutionForward: (k, e, p) => ({ ...convolution(k, e, p), scratch: rest }),
  convolutionBackwardData: (k, e, p) => {
    const { source, destination, weights } = convolution(k, e, p)
    return { destinationGradient: destination, weights, sourceGradient: source, scratch: rest }
  },
  convolutionBackwardWeights: (k, e, p) => {
    const { source, destination, weightGradient, bias } = convolution(k, e, p)
    return { source, destinationGradient: destination, weightGradient, biasGradient: bias, scratch: rest }
  },
  reorderWeights: (k, _, p) => ({ source: weights(k, k.sourceLayout, p), destination: weights(k, k.destinationLayout, p) }),
  reorderActivation: ({ batch, channels, height, width, sourceLayout, destinationLayout }, e) => ({
    source: activation(sourceLayout, [batch, channels, height, width], e),
    destination: activation(destinationLayout, [batch, channels, height, width], e)
  }),
  rectifierForward: ({ count }, e) => ({ source: contiguous(count * e), destination: contiguous(count * e) }),
  rectifierBackward: ({ count }, e) => {
    const all = contiguous(count * e)
    return { destination: all, destinationGradient: all, sourceGradient: all }
  },
  maxPoolForward: (k, e) => ({ ...pool(k, e), indices: rest }),
  maxPoolBackward: (k, e) => {
    const { source, destination } = pool(k, e)
    return { destinationGradient: destination, indices: rest, sourceGradient: source }
  },
  averagePoolForward: pool,
  averagePoolBackward: (k, e) => {
    const { source, destination } = pool(k, e)
    return { destinationGradient: destination, sourceGradient: source }
  },
  globalAveragePoolForward: (k, e, p) => ({ source: tile(k, e), sum: contiguous(k.batch * k.channels * p) }),
  globalAveragePoolBackward: (k, e) => ({ sumGradient: contiguous(k.batch * k.channels * e), sourceGradient: tile(k, e) }),
  linearForward: linear,
  linearBackwardData: (k, e, p) => {
    const { source, weights, destination } = linear(k, e, p)
    return { destinationGradient: destination, weights, sourceGradient: source }
  },
  linearBackwardWeights: (k, e, p) => {
    const { source, weightGradient, bias, destination } = linear(k, e, p)
    return { source, destinationGradient: destination, weightGradient, biasGradient: bias }
  },
  dropout: (k, e) => ({ source: tile(k, e), destination: tile(k, e), ...origin(k) }),
  softmaxCrossEntropyForward: ({ batch, classes }, e, p) => ({
    source: contiguous(batch * classes * e),
    labels: contiguous(batch * labelBytes),
    rowWeights: contiguous(batch * p),
    loss: contiguous(lossBytes)
  }),
  softmaxCrossEntropyBackward: ({ batch, classes }, e, p) => ({
    source: contiguous(batch * classes * e),
    labels: contiguous(batch * labelBytes),
    rowWeights: contiguous(batch * p),
    sourceGradient: contiguous(batch * classes * e)
  }),
  meanSquaredErrorForward: (k, e, p) => ({ source: tile(k, e), target: strided(k, p), loss: contiguous(lossBytes) }),
  meanSquaredErrorBackward: (k, e, p) => ({ source: tile(k, e), target: strided(k, p), sourceGradient: tile(k, e) }),
  resizeForward: resampledForward,
  resizeBackward: resampledBackward,
  adaptivePoolForward: resampledForward,
  adaptivePoolBackward: resampledBackward,
  padForward: resampledForward,
  padBackward: resampledBackward,
  pixelShuffle: (k, e) => {
    const fine = (layout: number) => activation(layout, [k.batch, k.channels, k.height, k.width], e)
    const coarse = (layout: number) => activation(layout, [k.batch, k.channels * k.factor ** 2, k.coarseHeight, k.coarseWidth], e)
    const [source, destination] = k.inverse === 1 ? [fine, coarse] : [coarse, fine]
    return { source: source(k.sourceLayout), destination: destination(k.destinationLayout) }
  },
  channelShuffle: (k, e) => ({ source: tile(k, e), destination: tile(k, e) }),
  shiftChannels: ({ batch, channels, height, width, sourceChannels, sourceLayout, destinationLayout }, e) => ({
    source: activation(sourceLayout, [batch, sourceChannels, height, width], e),
    destination: activation(destinationLayout, [batch, channels, height, width], e)
  }),
  globalMaxPoolForward: (k, e) => ({ source: tile(k, e), destination: contiguous(k.batch * k.channels * e), ...maxima(k) }),
  globalMaxPoolBackward: (k, e) => ({
    destinationGradient: contiguous(k.batch * k.channels * e),
    sourceGradient: tile(k, e),
    ...maxima(k)
  }),
  addBias: (k, e, p) => ({ bias: contiguous(k.channels * p), destination: tile(k, e) }),
  sumBias: (k, e, p) => ({ destinationGradient: tile(k, e), biasGradient: contiguous(k.channels * p) }),
  pixelCrossEntropyForward: (k, e, p) => ({ ...pixelLoss(k, e, p), loss: contiguous(lossBytes) }),
  pixelCrossEntropyBackward: (k, e, p) => ({ ...pixelLoss(k, e, p), sourceGradient: tile(k, e) }),
  classLossForward: (k, e, p) => ({ ...pixelLoss(k, e, p), rowWeights: contiguous(k.batch * p), loss: contiguous(lossBytes) }),
  classLossBackward: (k, e, p) => ({
    ...pixelLoss(k, e, p),
    rowWeights: contiguous(k.batch * p),
    overlaps: overlapSums(k.batch, k.channels),
    sourceGradient: tile(k, e)
  }),
  sumOverlaps: (k, e, p) => {
    const { source, labels } = pixelLoss(k, e, p)
    return { source, labels, overlaps: overlapSums(k.batch, k.channels) }
  },
  overlapLoss: ({ images, channels }, _, p) => ({
    overlaps: overlapSums(images, channels),
    classWeights: contiguous(channels * p),
    loss: contiguous(lossBytes)
  }),
  valueLossForward: (k, e, p) => ({ ...valueLoss(k, e, p), loss: contiguous(lossBytes) }),
  valueLossBackward: (k, e, p) => ({ ...valueLoss(k, e, p), sourceGradient: tile(k, e) }),
  argmaxChannels: (k, e) => ({ source: tile(k, e), classes: classesOf(k, 1) }),
  momentsForward: (k, e) => ({ source: tile(k, e), moments: moments(images(k) * k.groups) }),
  momentsOfRunning: ({ channels }, _, p) => ({
    mean: contiguous(channels * p),
    variance: contiguous(channels * p),
    moments: moments(channels)
  }),
  updateRunning: ({ channels }, _, p) => ({
    moments: moments(channels),
    mean: contiguous(channels * p),
    variance: contiguous(channels * p)
  }),
  normaliseForward: (k, e, p) => ({ ...normalisation(k, e, p), destination: tile(k, e) }),
  normaliseBackwardReduce: (k, e, p) => ({
    ...normalisation(k, e, p),
    destinationGradient: tile(k, e),
    sums: gradientSums(images(k), k.channels)
  }),
  normaliseParameters: ({ images, channels }, _, p) => ({
    sums: gradientSums(images, channels),
    weightGradient: contiguous(channels * p),
    biasGradient: contiguous(channels * p)
  }),
  normaliseBackward: (k, e, p) => ({
    ...normalisation(k, e, p),
    sums: gradientSums(images(k), k.channels),
    destinationGradient: tile(k, e),
    sourceGradient: tile(k, e)
  }),
  addForward: ({ count }, e) => {
    const all = contiguous(count * e)
    return { first: all, second: all, destination: all }
  },
  copyChannels: (k, e) => ({
    source: activation(k.sourceLayout, [k.batch, k.sourceChannels, k.height, k.width], e),
    destination: copiedChannels(k, e)
  }),
  pointwiseForward: (k, e, p) => ({ source: tile(k, e), ...pointwiseOperands(k, e, p), destination: tile(k, e) }),
  pointwiseBackward: (k, e, p) => ({
    kept: tile(k, e),
    ...pointwiseOperands(k, e, p),
    destinationGradient: tile(k, e),
    sourceGradient: tile(k, e)
  }),
  pointwiseSum: (k, e, p) => ({
    kept: tile(k, e),
    ...pointwiseOperands(k, e, p),
    destinationGradient: tile(k, e),
    sum: contiguous([p, k.channels * p, k.batch * k.channels * e][k.rows] ?? NaN)
  }),
  copyBox: (k, activationBytes, parameterBytes) => {
    const e = k.ofParameters === 1 ? parameterBytes : activationBytes
    const box = (strides: readonly [number, number, number]): Region => ({
      kind: 'bytes',
      repeats: [k.n0, k.n1, k.n2].map((count, axis) => ({ count, stride: strides[axis]! * e })),
      run: k.n3 * e
    })
    return {
      source: box([k.sourceStride0, k.sourceStride1, k.sourceStride2]),
      destination: box([k.destinationStride0, k.destinationStride1, k.destinationStride2])
    }
  },
  packTile: (k, e, p) => ({ source: strided(k, p), destination: tile(k, e) }),
  unpackAddTile: (k, e, p) => ({ source: tile(k, e), destination: strided(k, p) }),
  zero: ({ bytes }) => ({ destination: contiguous(bytes) }),
  loadImage: (k, e) => ({ destination: tile(k, e), ...origin(k) }),
  sgd: ({ count }, _, p) => {
    const all = contiguous(count * p)
    return { weights: all, gradient: all, velocity: all }
  },
  adam: ({ count }, _, p) => {
    const all = contiguous(count * p)
    return { weights: all, gradient: all, firstMoment: all, secondMoment: all }
  },
  sumSquares: ({ count }, _, p) => ({ source: contiguous(count * p), sum: contiguous(doubleBytes) }),
  clipGradient: ({ count }, _, p) => ({ sumSquares: contiguous(doubleBytes), gradient: contiguous(count * p) }),
  squareRoot: ({ count }) => ({ source: contiguous(count * doubleBytes), destination: contiguous(count * doubleBytes) }),
  castWeights: (k, e, p) => ({ source: weights(k, k.sourceLayout, p), destination: weights(k, k.destinationLayout, e) })
}

export interface OperandRegion {
  readonly name: string
  readonly use: Use
  readonly region: Region
}

/**
 * Tells whether a kernel overwrites an operand that the table calls accumulated: it does where it
 * does not add, and writes all of its region.
 */
const overwrites = (kernel: Kernel): boolean => {
  switch (kernel.kind) {
    case 'copyBox':
    case 'normaliseBackward':
      return kernel.add === 0
    case 'copyChannels':
      return kernel.add === 0 && copiesApart(kernel)
    default:
      return false
  }
}

/** The operands of a kernel in order, with what it touches of each. */
export const operandRegions = (kernel: Kernel, { activationBytes, parameterBytes }: ElementSizes): readonly OperandRegion[] => {
  // The row of a kernel's own kind takes that kernel.
  const row = rows[kernel.kind] as (kernel: Kernel, activationBytes: number, parameterBytes: number) => Readonly<Record<string, Region>>
  const regions = row(kernel, activationBytes, parameterBytes)
  const written = overwrites(kernel)
  return Object.entries(kernelTable[kernel.kind].operands).map(([name, use]) => ({
    name,
    use: written && use === 'accumulate' ? 'write' : use,
    region: regions[name]!
  }))
}
