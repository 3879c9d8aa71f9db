import { map } from 'fp-ts/Record'
import { kernelFields as fields, type Fields } from './kernel-fields'

/**
 * Every kernel that a device implements: its numeric fields, and its operands in order with how
 * each is used. `npm run generate` writes the same in C++ (native/src/generated). The order of the
 * rows is the kernel's code in a Program. Extents are in elements, offsets in bytes; layouts are
 * codes of staging/kernels/layout.ts.
 *
 * An operand is an address, except those marked `index`, whose value is a number itself (an
 * absolute coordinate). `accumulate` reads and writes. One that is `optional` and absent stands in
 * space `none`. What a kernel writes may be exactly where an operand `inPlace` is, unless it adds.
 *
 * Where activations have another type than parameters (Precision in program.ts), tiles and their
 * gradients have the activations', as have the weights that convolutions and linear layers read,
 * unless they are transformed for Winograd;
 * all other operands have the parameters': biases, gradients of parameters, weights of
 * normalisations, a pixel sum that tiles add to, and the plain tensor of packTile and
 * unpackAddTile.
 */
export type Use = 'read' | 'write' | 'accumulate' | 'scratch' | 'index'

const { slope: _slope, ...convolutionBackward } = fields.convolution
const { add: _add, ...normaliseForward } = fields.normalise

/** Absolute coordinates of the first row and column of the tiles of input and output. */
const resampledAt = { sourceRow: 'index', sourceColumn: 'index', destinationRow: 'index', destinationColumn: 'index' } as const

export const kernelTable = {
  /** Negative results are multiplied by `slope`: a rectifier in the same go. 1 leaves them. */
  convolutionForward: {
    fields: fields.convolution,
    operands: { source: 'read', weights: 'read', bias: 'read', destination: 'write', scratch: 'scratch' },
    optional: ['bias', 'scratch']
  },
  convolutionBackwardData: {
    fields: convolutionBackward,
    operands: { destinationGradient: 'read', weights: 'read', sourceGradient: 'write', scratch: 'scratch' },
    optional: ['scratch']
  },
  convolutionBackwardWeights: {
    fields: convolutionBackward,
    operands: { source: 'read', destinationGradient: 'read', weightGradient: 'write', biasGradient: 'write', scratch: 'scratch' },
    optional: ['biasGradient', 'scratch']
  },
  /**
   * [groups of out x in x kh x kw] from one weight layout to another, which may be a transformed
   * one.
   */
  reorderWeights: {
    fields: fields.weightReorder,
    operands: { source: 'read', destination: 'write' }
  },
  /** An activation from one layout to another (flatten and its gradient, export). */
  reorderActivation: {
    fields: fields.activationReorder,
    operands: { source: 'read', destination: 'write' }
  },
  /** y = x > 0 ? x : slope x; relu has slope 0. */
  rectifierForward: { fields: fields.rectifier, operands: { source: 'read', destination: 'write' }, inPlace: ['source'] },
  /** From the output's sign (slope >= 0), so that the input need not be kept. */
  rectifierBackward: {
    fields: fields.rectifier,
    operands: { destination: 'read', destinationGradient: 'read', sourceGradient: 'write' },
    inPlace: ['destinationGradient']
  },
  /**
   * `indices`: which element of each window was largest (the first of equals), in a form of the
   * device's own.
   */
  maxPoolForward: { fields: fields.pool, operands: { source: 'read', destination: 'write', indices: 'write' } },
  maxPoolBackward: { fields: fields.pool, operands: { destinationGradient: 'read', indices: 'read', sourceGradient: 'write' } },
  /** Divides by the window's size with padding (countPadding 1) or without. */
  averagePoolForward: {
    fields: fields.averagePool,
    operands: { source: 'read', destination: 'write' }
  },
  averagePoolBackward: {
    fields: fields.averagePool,
    operands: { destinationGradient: 'read', sourceGradient: 'write' }
  },
  /** sum[b, c] += scale * sum of the tile's pixels; sum is plain [batch, channels]. */
  globalAveragePoolForward: { fields: fields.globalAveragePool, operands: { source: 'read', sum: 'accumulate' } },
  globalAveragePoolBackward: { fields: fields.globalAveragePool, operands: { sumGradient: 'read', sourceGradient: 'write' } },
  /** y[b, o] = sum_i x[b, i] w[o, i] + bias[o]; everything plain. */
  linearForward: {
    fields: fields.linear,
    operands: { source: 'read', weights: 'read', bias: 'read', destination: 'write' },
    optional: ['bias']
  },
  linearBackwardData: {
    fields: fields.linear,
    operands: { destinationGradient: 'read', weights: 'read', sourceGradient: 'write' }
  },
  linearBackwardWeights: {
    fields: fields.linear,
    operands: { source: 'read', destinationGradient: 'read', weightGradient: 'write', biasGradient: 'write' },
    optional: ['biasGradient']
  },
  /**
   * destination = keep(element) ? source / (1 - rate) : 0, forward and backward alike. keep is a
   * counter-based draw keyed by (seed, step, layerKey, absolute plain element of the tensor
   * [fullChannels, fullHeight, fullWidth]).
   */
  dropout: {
    fields: fields.dropout,
    operands: { source: 'read', destination: 'write', batchOrigin: 'index', rowOrigin: 'index', columnOrigin: 'index' },
    inPlace: ['source']
  },
  /**
   * Adds to loss (two float64: summed loss / fullBatch, rows predicted rightly). labels: int32, one
   * a row. A row's loss and gradient are multiplied by its weight (rowWeights [batch]), where
   * weights are given.
   */
  softmaxCrossEntropyForward: {
    fields: fields.crossEntropy,
    operands: { source: 'read', labels: 'read', rowWeights: 'read', loss: 'accumulate' },
    optional: ['rowWeights']
  },
  softmaxCrossEntropyBackward: {
    fields: fields.crossEntropy,
    operands: { source: 'read', labels: 'read', rowWeights: 'read', sourceGradient: 'write' },
    optional: ['rowWeights']
  },
  /**
   * Adds sum (source - target)^2 / count to loss (first of two float64). target: plain, strided, of
   * the Program's precision.
   */
  meanSquaredErrorForward: { fields: fields.squaredError, operands: { source: 'read', target: 'read', loss: 'accumulate' } },
  meanSquaredErrorBackward: { fields: fields.squaredError, operands: { source: 'read', target: 'read', sourceGradient: 'write' } },
  /**
   * A row's moments are three float64: count, mean, sum of squared deviations. Merges those of the
   * tile, in double (Chan et al. 1979).
   */
  momentsForward: { fields: fields.groupedTile, operands: { source: 'read', moments: 'accumulate' } },
  /** Moments (count 1) that stand for a running mean and variance [channels]. */
  momentsOfRunning: { fields: fields.channelCount, operands: { mean: 'read', variance: 'read', moments: 'write' } },
  /** running = (1 - momentum) running + momentum batch; the variance unbiased, as in PyTorch. */
  updateRunning: { fields: fields.updateRunning, operands: { moments: 'read', mean: 'accumulate', variance: 'accumulate' } },
  /**
   * y = rectified((x - mean) / sqrt(variance + epsilon) * weights + bias), weights and bias
   * [channels]; slope as of convolutionForward.
   */
  normaliseForward: {
    fields: normaliseForward,
    operands: { source: 'read', moments: 'read', weights: 'read', bias: 'read', destination: 'write' },
    optional: ['weights', 'bias'],
    inPlace: ['source']
  },
  /**
   * Adds to sums, two float64 for each channel (of each image where perImage is 1): of dy, and of
   * dy times the normalised x. The rectifier's part of the gradient is found from x.
   */
  normaliseBackwardReduce: {
    fields: normaliseForward,
    operands: { source: 'read', moments: 'read', weights: 'read', bias: 'read', destinationGradient: 'read', sums: 'accumulate' },
    optional: ['weights', 'bias']
  },
  /** Gradients of weights and bias [channels] from sums of `images` images (1 for batchNorm). */
  normaliseParameters: {
    fields: fields.normaliseParameters,
    operands: { sums: 'read', weightGradient: 'write', biasGradient: 'write' },
    optional: ['biasGradient']
  },
  /**
   * weights rstd (dy - mean of dy - normalised x times mean of dy normalised x), means over a row
   * by its count; without sums, moments are constants: weights rstd dy. `add` 1 adds to
   * sourceGradient.
   */
  normaliseBackward: {
    fields: fields.normalise,
    operands: {
      source: 'read',
      moments: 'read',
      weights: 'read',
      bias: 'read',
      sums: 'read',
      destinationGradient: 'read',
      sourceGradient: 'accumulate'
    },
    optional: ['weights', 'bias', 'sums'],
    inPlace: ['destinationGradient']
  },
  /** destination = rectified(first + second). */
  addForward: { fields: fields.rectifier, operands: { first: 'read', second: 'read', destination: 'write' }, inPlace: ['first', 'second'] },
  /**
   * `count` channels of every pixel from one dense tile to another of the same batch, height and
   * width. `add` 1 adds; 0 writes the channels, with the padding behind them where they are the
   * last, so whole blocks where channelsAreApart (layout.ts).
   */
  copyChannels: {
    fields: fields.copyChannels,
    operands: { source: 'read', destination: 'accumulate' }
  },
  /**
   * Each element by itself: `source` is the expression's input. `second`: a tile of the same form,
   * or plain [batch, channels].
   */
  pointwiseForward: {
    fields: fields.pointwise,
    operands: { source: 'read', second: 'read', weight: 'read', bias: 'read', destination: 'write' },
    optional: ['second', 'weight', 'bias'],
    inPlace: ['source']
  },
  /**
   * The gradient of one of the inputs. `kept` is the expression's input, destinationGradient its
   * gradient.
   */
  pointwiseBackward: {
    fields: fields.pointwise,
    operands: { kept: 'read', second: 'read', weight: 'read', bias: 'read', destinationGradient: 'read', sourceGradient: 'write' },
    optional: ['kept', 'second', 'weight', 'bias'],
    inPlace: ['destinationGradient']
  },
  /** As torch.nn.functional.interpolate: bilinear 0 is nearest. */
  resizeForward: {
    fields: fields.resize,
    operands: { source: 'read', destination: 'write', ...resampledAt }
  },
  resizeBackward: {
    fields: fields.resize,
    operands: { destinationGradient: 'read', sourceGradient: 'write', ...resampledAt }
  },
  /**
   * Row o of the output is the mean over rows floor(o H / O) to ceil((o + 1) H / O); columns
   * likewise.
   */
  adaptivePoolForward: { fields: fields.resampled, operands: { source: 'read', destination: 'write', ...resampledAt } },
  adaptivePoolBackward: { fields: fields.resampled, operands: { destinationGradient: 'read', sourceGradient: 'write', ...resampledAt } },
  /** As torch.nn.functional.pad, at absolute coordinates of the whole tensors. */
  padForward: { fields: fields.pad, operands: { source: 'read', destination: 'write', ...resampledAt } },
  padBackward: { fields: fields.pad, operands: { destinationGradient: 'read', sourceGradient: 'write', ...resampledAt } },
  /** As torch.nn.functional.pixel_shuffle, forward and backward; pixel_unshuffle is its inverse. */
  pixelShuffle: { fields: fields.pixelShuffle, operands: { source: 'read', destination: 'write' } },
  /**
   * Channel i of group g becomes channel g of group i, of channels / groups groups, by which it is
   * taken back.
   */
  channelShuffle: { fields: fields.channelGroups, operands: { source: 'read', destination: 'write' } },
  /**
   * Channel c of the destination, which has `channels`, is channel c + offset of the source, and
   * zero where the source has none. The channels of the one lie within those of the other.
   */
  shiftChannels: {
    fields: { ...fields.activationReorder, sourceChannels: 'integer', offset: 'integer' },
    operands: { source: 'read', destination: 'write' }
  },
  /**
   * maxima: two float64 for each channel of each image, the largest element so far and one past its
   * absolute place in row-major order, which is 0 where there is none yet. Takes in those of the
   * tile: the first of equals wins, a NaN always. destination, plain [batch, channels], is what is
   * then the largest.
   */
  globalMaxPoolForward: {
    fields: fields.placedTile,
    operands: { source: 'read', maxima: 'accumulate', destination: 'write', rowOrigin: 'index', columnOrigin: 'index' }
  },
  globalMaxPoolBackward: {
    fields: fields.placedTile,
    operands: { destinationGradient: 'read', maxima: 'read', sourceGradient: 'write', rowOrigin: 'index', columnOrigin: 'index' }
  },
  /** Adds bias [channels] to every pixel. */
  addBias: { fields: fields.tile, operands: { bias: 'read', destination: 'accumulate' } },
  /** Sums over the tile's images and pixels. */
  sumBias: { fields: fields.tile, operands: { destinationGradient: 'read', biasGradient: 'write' } },
  /**
   * labels: int32 [B, fullHeight, fullWidth]; a pixel counts by its class's weight (1 where
   * absent), unless its label is `ignored`. Adds to loss (two float64: sum of weighted losses /
   * normaliser, pixels predicted rightly). normaliser: one float64.
   */
  pixelCrossEntropyForward: {
    fields: fields.pixelCrossEntropy,
    operands: { source: 'read', labels: 'read', classWeights: 'read', normaliser: 'read', loss: 'accumulate' },
    optional: ['classWeights']
  },
  pixelCrossEntropyBackward: {
    fields: fields.pixelCrossEntropy,
    operands: { source: 'read', labels: 'read', classWeights: 'read', normaliser: 'read', sourceGradient: 'write' },
    optional: ['classWeights']
  },
  /**
   * The class of the largest score of each pixel (the first of equals), uint8 [B, fullHeight,
   * fullWidth]; of a single channel 1 where its score is above 0.
   */
  argmaxChannels: { fields: fields.placedTile, operands: { source: 'read', classes: 'write' } },
  /**
   * A box of n0 x n1 x n2 rows of n3 contiguous elements, of activations or of parameters; strides
   * in elements. `add` 1 adds to the destination.
   */
  copyBox: {
    fields: fields.copyBox,
    operands: { source: 'read', destination: 'accumulate' }
  },
  /** A tile of a plain strided tensor to a dense tile in `layout` (channel padding is zeroed). */
  packTile: { fields: fields.stridedTile, operands: { source: 'read', destination: 'write' } },
  /** Adds a dense tile in `layout` to a plain strided tensor. */
  unpackAddTile: { fields: fields.stridedTile, operands: { source: 'read', destination: 'accumulate' } },
  /** Zeroes `bytes` bytes. */
  zero: { fields: fields.zero, operands: { destination: 'write' } },
  /**
   * A tile of the step's images: (value - mean[c]) / deviation[c], with each image's crop, flips,
   * turns and colour. The value of a uint8 is pixel / 255, of other element types the pixel.
   * channels <= 64.
   */
  loadImage: {
    fields: fields.loadImage,
    operands: { destination: 'write', batchOrigin: 'index', rowOrigin: 'index', columnOrigin: 'index' }
  },
  /**
   * As torch.optim.SGD: g += weightDecay w; m = step == 0 ? g : momentum m + g; w -= rate m.
   * Without momentum, `velocity` is absent.
   */
  sgd: { fields: fields.sgd, operands: { weights: 'accumulate', gradient: 'read', velocity: 'accumulate' }, optional: ['velocity'] },
  /** As torch.optim.Adam (decoupled 0) and AdamW (decoupled 1); bias correction by step + 1. */
  adam: {
    fields: fields.adam,
    operands: { weights: 'accumulate', gradient: 'read', firstMoment: 'accumulate', secondMoment: 'accumulate' }
  },
  /** sum (one float64) += the squares of all elements, in double. */
  sumSquares: { fields: fields.count, operands: { source: 'read', sum: 'accumulate' } },
  /**
   * As torch.nn.utils.clip_grad_norm_: gradient *= min(1, maxNorm / (sqrt(sumSquares) + 1e-6));
   * sumSquares: one float64.
   */
  clipGradient: { fields: fields.clipGradient, operands: { sumSquares: 'read', gradient: 'accumulate' } },
  /** Of `count` float64. */
  squareRoot: { fields: fields.count, operands: { source: 'read', destination: 'write' } },
  /**
   * As reorderWeights, rounded to the activations' type, to the nearest, ties to even: weights as
   * products read them. No layout is a transformed one.
   */
  castWeights: { fields: fields.weightReorder, operands: { source: 'read', destination: 'write' } },
  /**
   * Sums of an expression as of pointwiseBackward, of parameters' type where `rows` is below 2: the
   * gradient of what is broadcast.
   */
  pointwiseSum: {
    fields: fields.pointwiseSum,
    operands: { kept: 'read', second: 'read', weight: 'read', bias: 'read', destinationGradient: 'read', sum: 'write' },
    optional: ['kept', 'second', 'weight', 'bias']
  },
  /**
   * The losses of scores and classes: labels as pixelCrossEntropyForward's, of rows int32 [B]. An
   * expression of each channel's `input`, the logarithm of its softmax or its score, and `second`,
   * its target, is summed, times its class's weight, over channels and the pixels that count. Adds
   * to loss (two float64: the sum / normaliser, pixels predicted rightly). What an image has is
   * multiplied by its weight (rowWeights [batch]), where weights are given.
   */
  classLossForward: {
    fields: fields.classLoss,
    operands: { source: 'read', labels: 'read', classWeights: 'read', rowWeights: 'read', normaliser: 'read', loss: 'accumulate' },
    optional: ['classWeights', 'rowWeights']
  },
  /**
   * The expression is the gradient of `input`, by `gradient`: the weight / normaliser. Beside it
   * that of the Tversky index, where there are overlaps.
   */
  classLossBackward: {
    fields: fields.classLossBackward,
    operands: {
      source: 'read',
      labels: 'read',
      classWeights: 'read',
      rowWeights: 'read',
      normaliser: 'read',
      overlaps: 'read',
      sourceGradient: 'write'
    },
    optional: ['classWeights', 'rowWeights', 'overlaps']
  },
  /**
   * overlaps: three float64 for each channel of each image, to which are added, over the pixels
   * that count, the probability times the target, the probability, and the target.
   */
  sumOverlaps: {
    fields: fields.probabilities,
    operands: { source: 'read', labels: 'read', overlaps: 'accumulate' }
  },
  /**
   * Adds to loss (first of two float64) scale times the sum over images of the mean over channels,
   * by their weights, of 1 - (I + smooth) / (I + alpha (P - I) + beta (T - I) + smooth), of the
   * overlaps I, P and T; 0 where that divides by 0.
   */
  overlapLoss: {
    fields: fields.overlapLoss,
    operands: { overlaps: 'read', classWeights: 'read', loss: 'accumulate' },
    optional: ['classWeights']
  },
  /**
   * Adds to loss (first of two float64) the sum of an expression of `input`, the source, and
   * `second`, the target, / normaliser; an element whose target is NaN does not count. target:
   * plain, strided, of the Program's precision. Images have weights as classLossForward's.
   */
  valueLossForward: {
    fields: fields.valueLoss,
    operands: { source: 'read', target: 'read', rowWeights: 'read', normaliser: 'read', loss: 'accumulate' },
    optional: ['rowWeights']
  },
  /** The expression is the gradient of `input`, by `gradient`: 1 / normaliser. */
  valueLossBackward: {
    fields: fields.valueLoss,
    operands: { source: 'read', target: 'read', rowWeights: 'read', normaliser: 'read', sourceGradient: 'write' },
    optional: ['rowWeights']
  }
} as const satisfies { readonly [kind: string]: KernelRow }

/** A kernel's declaration. */
export interface KernelRow {
  readonly fields: Fields
  readonly operands: { readonly [operand: string]: Use }
  readonly optional?: readonly string[]
  readonly inPlace?: readonly string[]
}

export type KernelKind = keyof typeof kernelTable
export const kernelKinds = Object.keys(kernelTable) as readonly KernelKind[]

const kernelCodes: ReadonlyMap<KernelKind, number> = new Map(kernelKinds.map((kind, code) => [kind, code]))

/** Names of each kernel's fields, in order. */
export const fieldNames = map(({ fields }: KernelRow): readonly string[] => Object.keys(fields))<KernelKind>(kernelTable)

type FieldsOf<K extends KernelKind> = (typeof kernelTable)[K]['fields']
export type OperandsOf<K extends KernelKind> = keyof (typeof kernelTable)[K]['operands']

/** One kernel with all its numbers fixed; a Program holds each distinct one once. */
export type KernelOf<K extends KernelKind> = { readonly kind: K } & {
  readonly [F in keyof FieldsOf<K>]: FieldsOf<K>[F] extends 'numbers' ? readonly number[] : number
}
export type Kernel = { [K in KernelKind]: KernelOf<K> }[KernelKind]
export type ConvolutionKernel = Extract<Kernel, { readonly algorithm: number }>

export const isConvolution = (kernel: Kernel): kernel is ConvolutionKernel => 'algorithm' in kernel

/**
 * [code, ...fields in the table's order]: what a device decodes. A list of numbers has its length
 * before it.
 */
export const encodeKernel = (kernel: Kernel): readonly number[] => {
  const values = kernel as unknown as Readonly<Record<string, number | readonly number[]>>
  const numbers = [kernelCodes.get(kernel.kind)!]
  for (const field of fieldNames[kernel.kind]) {
    const value = values[field]!
    if (typeof value === 'number') numbers.push(value)
    else numbers.push(value.length, ...value)
  }
  return numbers
}

/** A kernel's numbers as a key for what is remembered by kernel. */
export const keyOfKernel = (kernel: Kernel): string => encodeKernel(kernel).join()

/** What is declared of a kernel, whichever it is. */
export const rowOf = (kind: KernelKind): KernelRow => kernelTable[kind]

export const isOptional = (kind: KernelKind, operand: string): boolean => (rowOf(kind).optional ?? []).includes(operand)

/** Whether a kernel may write in the very place where it reads this operand. */
export const worksInPlace = (kernel: Kernel, operand: string): boolean =>
  (rowOf(kernel.kind).inPlace ?? []).includes(operand) && !('add' in kernel && kernel.add === 1)
