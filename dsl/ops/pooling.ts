import * as E from 'fp-ts/Either'
import type { Lte, Mul } from '../shapes/arithmetic'
import { imageRule, type NoImage, type Shape, type ShowShape } from '../shapes/shape'
import { local, reducesPixels, unary, type OpRecord } from './op-record'
import type { NoOptions, OptionValue, Padding, Pair } from './options'
import { windowRule, type Dilation, type KernelSizes, type Numbers2, type Numbers4, type Pads, type Stride, type Windowed } from './window'

/** The options of `maxPool2d`. */
export interface MaxPool2dArguments {
  /** Window size in pixels, one number or [height, width]: PyTorch's kernel_size. */
  readonly k: Pair
  /**
   * Stride in pixels, one number or [height, width]; the window's size by default, as in PyTorch.
   */
  readonly s?: Pair
  /**
   * Pixels of minus infinity around the image: one number, [height, width] or [top, bottom, left,
   * right]; 0 by default, at most half of the window.
   */
  readonly p?: Padding
  /**
   * Dilation: pixels from one tap of the window to the next, one number or [height, width]; 1 by
   * default.
   */
  readonly d?: Pair
  /**
   * Counts a last window that is only partly over the image; false by default. PyTorch's ceil_mode.
   */
  readonly ceilMode?: boolean
}

/** The options of `avgPool2d`. */
export interface AvgPool2dArguments {
  /** Window size in pixels, one number or [height, width]: PyTorch's kernel_size. */
  readonly k: Pair
  /**
   * Stride in pixels, one number or [height, width]; the window's size by default, as in PyTorch.
   */
  readonly s?: Pair
  /**
   * Zeros around the image, in pixels: one number, [height, width] or [top, bottom, left, right]; 0
   * by default, at most half of the window.
   */
  readonly p?: Padding
  /**
   * Counts a last window that is only partly over the image; false by default. PyTorch's ceil_mode.
   */
  readonly ceilMode?: boolean
  /** Includes padding in the mean; true by default. PyTorch's count_include_pad. */
  readonly countIncludePad?: boolean
}

const sameChannels = (_: unknown, inChannels: number): E.Either<string, number> => E.right(inChannels)

/** The record of `maxPool2d`. */
export const maxPool2d = {
  options: [
    ['k', 'k'],
    ['s', 's'],
    ['p', 'p'],
    ['d', 'd'],
    ['ceilMode', true, 'ceil']
  ],
  required: ['k'],
  segment: local,
  takesMaxima: true,
  shape: unary(windowRule('maxPool2d', sameChannels))
} as const satisfies OpRecord<MaxPool2dArguments>

/** The record of `avgPool2d`. */
export const avgPool2d = {
  options: [
    ['k', 'k'],
    ['s', 's'],
    ['p', 'p'],
    ['ceilMode', true, 'ceil'],
    ['countIncludePad', false, 'exclude-pad']
  ],
  required: ['k'],
  segment: local,
  shape: unary(windowRule('avgPool2d', sameChannels))
} as const satisfies OpRecord<AvgPool2dArguments>

/** The record of `globalAvgPool`. */
export const globalAvgPool = {
  options: [],
  segment: reducesPixels,
  shape: unary(imageRule('globalAvgPool', (_, [batch, channels]) => E.right([batch, channels])))
} as const satisfies OpRecord<NoOptions>

/** The record of `globalMaxPool`. */
export const globalMaxPool = {
  options: [],
  segment: reducesPixels,
  shape: unary(imageRule('globalMaxPool', (_, [batch, channels]) => E.right([batch, channels])))
} as const satisfies OpRecord<NoOptions>

/** The type of what the rules of pools return. */
export type PoolShape<N extends 'maxPool2d' | 'avgPool2d', S extends Shape, A> = S extends readonly [
  infer B extends number,
  infer C extends number,
  infer H extends number,
  infer W extends number
]
  ? Windowed<
      N,
      B,
      C,
      [H, W],
      KernelSizes<A>,
      Stride<A, OptionValue<A, 'k', 1>>,
      Dilation<A>,
      Pads<A>,
      OptionValue<A, 'ceilMode', false> & boolean
    > extends infer Y
    ? Y extends Shape
      ? OverHalf<Pads<A>, KernelSizes<A>> extends true
        ? `${N}: a padding is more than half of the kernel ${ShowShape<KernelSizes<A>>}`
        : Y
      : Y
    : never
  : NoImage<N, S>

type OverHalf<P extends Numbers4, K extends Numbers2> = P extends readonly [0, 0, 0, 0]
  ? false
  : [Lte<Mul<2, P[0]>, K[0]>, Lte<Mul<2, P[1]>, K[0]>, Lte<Mul<2, P[2]>, K[1]>, Lte<Mul<2, P[3]>, K[1]>] extends [true, true, true, true]
    ? false
    : true

/** The type of what the rule of an op that reduces the pixels returns. */
export type GlobalPoolShape<P extends string, S extends Shape> = S extends readonly [
  infer B extends number,
  infer C extends number,
  number,
  number
]
  ? readonly [B, C]
  : NoImage<P, S>
