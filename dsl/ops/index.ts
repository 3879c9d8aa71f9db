/** Every op of the DSL: its options, the type of its shape rule, and its record; one row each. */
import type { Shape } from '../shapes/shape'
import { conv2d, type Conv2dArguments, type ConvolutionShape } from './convolution'
import {
  dropout,
  leakyRelu,
  relu,
  type DropoutArguments,
  type DropoutShape,
  type Elementwise,
  type LeakyReluArguments,
  type LeakyReluShape
} from './elementwise'
import { add, concat, mul, type ConcatShape, type JoinShape } from './joins'
import { flatten, linear, type FlattenShape, type LinearArguments, type LinearShape } from './linear'
import {
  classLoss,
  meanSquaredError,
  overlapLoss,
  pixelCrossEntropy,
  pixelLoss,
  softmaxCrossEntropy,
  valueLoss,
  type ClassLossArguments,
  type ClassLossShape,
  type MeanSquaredErrorShape,
  type PixelCrossEntropyArguments,
  type PixelCrossEntropyShape,
  type PixelLossArguments,
  type SoftmaxCrossEntropyShape,
  type ValueLossArguments,
  type ValueLossShape
} from './losses'
import {
  channelShuffle,
  narrow,
  pad,
  pixelShuffle,
  pixelUnshuffle,
  type ChannelShuffleArguments,
  type ChannelShuffleShape,
  type NarrowArguments,
  type NarrowShape,
  type PadArguments,
  type PadShape,
  type PixelShuffleArguments,
  type PixelShuffleShape,
  type PixelUnshuffleArguments,
  type PixelUnshuffleShape
} from './movement'
import {
  batchNorm,
  groupNorm,
  instanceNorm,
  type BatchNormArguments,
  type BatchNormShape,
  type GroupNormArguments,
  type GroupNormShape,
  type InstanceNormArguments,
  type InstanceNormShape
} from './normalisation'
import { pointwise, type PointwiseArguments, type PointwiseShape } from './pointwise'
import {
  avgPool2d,
  globalAvgPool,
  globalMaxPool,
  maxPool2d,
  type AvgPool2dArguments,
  type GlobalPoolShape,
  type MaxPool2dArguments,
  type PoolShape
} from './pooling'
import {
  adaptiveAvgPool2d,
  resize,
  type AdaptiveAvgPool2dArguments,
  type AdaptivePoolShape,
  type ResizeArguments,
  type ResizeShape
} from './resampling'
import { convTranspose2d, type ConvTranspose2dArguments, type TransposedShape } from './transposed-convolution'
import type { LossTarget } from './op-record'
import type { NoOptions } from './options'

/**
 * Layers that compute. Defaults are PyTorch's: stride 1 (pools: the kernel), no padding, dilation
 * 1, groups 1, bias true.
 */
export interface OpArguments {
  readonly conv2d: Conv2dArguments
  readonly relu: NoOptions
  /** y = x > 0 ? x : slope x; slope 0.01 by default. */
  readonly leakyRelu: LeakyReluArguments
  readonly maxPool2d: MaxPool2dArguments
  /**
   * Divides by the kernel's size; where countIncludePad is false, by what of it lies in the image.
   */
  readonly avgPool2d: AvgPool2dArguments
  readonly globalAvgPool: NoOptions
  /** The largest element of each channel of each image. */
  readonly globalMaxPool: NoOptions
  readonly flatten: NoOptions
  readonly linear: LinearArguments
  /** Zeroes each element with probability `rate`, and scales the others by 1 / (1 - rate). */
  readonly dropout: DropoutArguments
  readonly convTranspose2d: ConvTranspose2dArguments
  /**
   * Batch normalisation: statistics of images are over the batch and all pixels, of features [B, C]
   * over the batch; evaluation takes running statistics (Ioffe and Szegedy, 2015).
   */
  readonly batchNorm: BatchNormArguments
  readonly groupNorm: GroupNormArguments
  readonly instanceNorm: InstanceNormArguments
  /** Computes each element by itself, by an expression. */
  readonly pointwise: PointwiseArguments
  readonly resize: ResizeArguments
  /** Means over the windows that divide [H, W] into `out`, as in PyTorch. */
  readonly adaptiveAvgPool2d: AdaptiveAvgPool2dArguments
  /**
   * [B, C factor^2, H, W] to [B, C, H factor, W factor]: the channels of a pixel become a square of
   * pixels.
   */
  readonly pixelShuffle: PixelShuffleArguments
  /** The inverse of pixelShuffle. */
  readonly pixelUnshuffle: PixelUnshuffleArguments
  /** Channel i of group g becomes channel g of group i. */
  readonly channelShuffle: ChannelShuffleArguments
  /** Some of the channels: `length` of them from `start` on. */
  readonly narrow: NarrowArguments
  /** Adds rows and columns of zeros, or of what the image has at its edges. */
  readonly pad: PadArguments
  /** Joins the two branches of a `residual`. */
  readonly add: NoOptions
  /** Joins the two branches of a `gated`. */
  readonly mul: NoOptions
  /** Joins the branches of a `parallel` along the channels. */
  readonly concat: NoOptions
  readonly softmaxCrossEntropy: NoOptions
  /**
   * Cross-entropy of scores [B, N, H, W] and a class for each pixel: the mean over the pixels that
   * count, by their class's weight.
   */
  readonly pixelCrossEntropy: PixelCrossEntropyArguments
  readonly meanSquaredError: NoOptions
  /** A weighted sum of losses of scores [B, N] and a class for each row. */
  readonly classLoss: ClassLossArguments
  /** A weighted sum of losses of scores [B, N, H, W] and a class for each pixel. */
  readonly pixelLoss: PixelLossArguments
  /**
   * Dice or Tversky of each image by itself, of scores [B, N, H, W] and a class for each pixel, and
   * perhaps what pixelLoss has beside.
   */
  readonly overlapLoss: PixelLossArguments
  /** A weighted sum of losses of single elements, of predictions and values of their shape. */
  readonly valueLoss: ValueLossArguments
}

/** The name of an op, such as `conv2d`. */
export type Op = keyof OpArguments

/**
 * The shape of each op's output, or the sentence that says why there is none; one row an op. What
 * the records' `shape` does at run time, with the same sentences in the same order.
 */
export interface ShapeRules<S extends Shape, A, Start extends Shape, Inputs extends readonly Shape[]> {
  readonly conv2d: ConvolutionShape<S, A>
  readonly relu: Elementwise<'relu', S>
  readonly leakyRelu: LeakyReluShape<S, A>
  readonly maxPool2d: PoolShape<'maxPool2d', S, A>
  readonly avgPool2d: PoolShape<'avgPool2d', S, A>
  readonly globalAvgPool: GlobalPoolShape<'globalAvgPool', S>
  readonly globalMaxPool: GlobalPoolShape<'globalMaxPool', S>
  readonly flatten: FlattenShape<S>
  readonly linear: LinearShape<S, A>
  readonly dropout: DropoutShape<S, A>
  readonly convTranspose2d: TransposedShape<S, A>
  readonly batchNorm: BatchNormShape<S, A>
  readonly groupNorm: GroupNormShape<S, A>
  readonly instanceNorm: InstanceNormShape<S, A>
  readonly pointwise: PointwiseShape<S, A>
  readonly resize: ResizeShape<S, A, Start>
  readonly adaptiveAvgPool2d: AdaptivePoolShape<S, A>
  readonly pixelShuffle: PixelShuffleShape<S, A>
  readonly pixelUnshuffle: PixelUnshuffleShape<S, A>
  readonly channelShuffle: ChannelShuffleShape<S, A>
  readonly narrow: NarrowShape<S, A>
  readonly pad: PadShape<S, A>
  readonly add: JoinShape<'add', 'shortcut', Inputs>
  readonly mul: JoinShape<'mul', 'gate', Inputs>
  readonly concat: ConcatShape<Inputs>
  readonly softmaxCrossEntropy: SoftmaxCrossEntropyShape<S>
  readonly pixelCrossEntropy: PixelCrossEntropyShape<S, A>
  readonly meanSquaredError: MeanSquaredErrorShape<S>
  readonly classLoss: ClassLossShape<S, A>
  readonly pixelLoss: PixelCrossEntropyShape<S, A, 'pixelLoss'>
  readonly overlapLoss: PixelCrossEntropyShape<S, A, 'overlapLoss'>
  readonly valueLoss: ValueLossShape<S>
}

/**
 * Looks an op up; an op without a row does not compile. Inputs: the shapes that it joins, or the
 * only one; Start: the shape with which the innermost block, or the net, starts.
 */
export type OutputShape<
  P extends Op,
  S extends Shape,
  A,
  Start extends Shape = Shape,
  Inputs extends readonly Shape[] = readonly [S]
> = ShapeRules<S, A, Start, Inputs>[P]

/** The record of each op: options, shape rule and how it joins a segment. */
export const opRecords = {
  conv2d,
  relu,
  leakyRelu,
  maxPool2d,
  avgPool2d,
  globalAvgPool,
  globalMaxPool,
  flatten,
  linear,
  dropout,
  convTranspose2d,
  batchNorm,
  groupNorm,
  instanceNorm,
  pointwise,
  resize,
  adaptiveAvgPool2d,
  pixelShuffle,
  pixelUnshuffle,
  channelShuffle,
  narrow,
  pad,
  add,
  mul,
  concat,
  softmaxCrossEntropy,
  pixelCrossEntropy,
  meanSquaredError,
  classLoss,
  pixelLoss,
  overlapLoss,
  valueLoss
} as const

/** An op that ends a network, and makes nothing but a number, from such a target. */
export type Loss<T extends LossTarget = LossTarget> = OpWith<{ readonly loss: T }>
/** A loss that is divided by what comes with the step. */
export type NormalisedLoss = OpWith<{ readonly normalised: true }>
/** An op whose output's sign is its input's, such as `relu`. */
export type Rectifier = OpWith<{ readonly rectifies: true }>
/** An op that takes the maximum of each window. */
export type MaxPool = OpWith<{ readonly takesMaxima: true }>
/** An op that Winograd's algorithm may compute. */
export type Convolution = OpWith<{ readonly transformable: unknown }>
/** The ops whose records have this. */
type OpWith<Property> = { [P in Op]: (typeof opRecords)[P] extends Property ? P : never }[Op]

/** What code that is not of one op reads of the records; narrow, since types of it are costly. */
interface Declared {
  readonly options: readonly (readonly [option: string, ...unknown[]])[]
  readonly loss?: LossTarget
  readonly normalised?: true
  readonly rectifies?: true
  readonly takesMaxima?: true
  readonly transformable?: (args: never) => boolean
}
const getDeclaration = (op: Op): Declared => opRecords[op]

/** Tells whether the op ends a network with a number that is minimised. */
export const isLoss = (op: Op): op is Loss => getDeclaration(op).loss !== undefined

/** Tells whether the op is a loss that compares its input with such a target. */
export const comparesWith = <T extends LossTarget>(op: Op, target: T): op is Loss<T> => getDeclaration(op).loss === target

/** Tells whether a loss is divided by what comes with the step. */
export const isNormalisedLoss = (op: Op): op is NormalisedLoss => getDeclaration(op).normalised === true

/** Tells whether the op keeps what is positive and scales the rest. */
export const isRectifier = (op: Op): op is Rectifier => getDeclaration(op).rectifies === true

/** Tells whether the op takes the maximum of each window. */
export const takesMaxima = (op: Op): op is MaxPool => getDeclaration(op).takesMaxima === true

/** Tells whether a pool may run before the rectifier that it alone reads: both are monotone. */
export const canCommute = (first: Op, second: Op): boolean => isRectifier(first) && takesMaxima(second)

/** Tells whether an op has an option of this name. */
export const knowsOption = (op: string, option: string): boolean =>
  op in opRecords && getDeclaration(op as Op).options.some(([name]) => name === option)

/** Tells whether the op is a convolution, which Winograd's algorithm may compute. */
export const isConvolutionOp = (op: Op): op is Convolution => getDeclaration(op).transformable !== undefined

/** Tells whether Winograd's algorithm can compute an op with such options, which are its own. */
export const isTransformable = (op: Op, args: object): boolean => getDeclaration(op).transformable?.(args as never) === true
