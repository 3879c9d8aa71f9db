import * as E from 'fp-ts/Either'
import type { AreWholePositive } from '../shapes/arithmetic'
import type { NoImage, Shape } from '../shapes/shape'
import { local, unary, type OpRecord } from './op-record'
import {
  validateGroups,
  sizesError,
  areIntegers,
  type GroupsError,
  type OptionValue,
  type Padding,
  type Pair,
  type SizesError
} from './options'
import {
  toWindow,
  windowRule,
  type Dilation,
  type KernelSizes,
  type Numbers2,
  type Numbers4,
  type Pads,
  type Stride,
  type Windowed
} from './window'

/** The options of `conv2d`. */
export interface Conv2dArguments {
  /** Output channels: PyTorch's out_channels. */
  readonly out: number
  /** Kernel size in pixels, one number or [height, width]: PyTorch's kernel_size. */
  readonly k: Pair
  /** Stride in pixels, one number or [height, width]; 1 by default. */
  readonly s?: Pair
  /**
   * Zeros around the image, in pixels: one number, [height, width] or [top, bottom, left, right]; 0
   * by default. PyTorch's padding.
   */
  readonly p?: Padding
  /**
   * Dilation: pixels from one tap of the kernel to the next, one number or [height, width]; 1 by
   * default.
   */
  readonly d?: Pair
  /**
   * Groups of channels that are convolved by themselves; 1 by default, as many as input channels
   * for a depthwise convolution.
   */
  readonly groups?: number
  /** Adds a learnt bias to each output channel; true by default. */
  readonly bias?: boolean
}

const convolutionChannels = ({ out, groups = 1 }: Conv2dArguments, inChannels: number): E.Either<string, number> => {
  const mistake = areIntegers([out, groups], 1) ? validateGroups('conv2d', inChannels, out, groups) : sizesError('conv2d')
  return mistake === undefined ? E.right(out) : E.left(mistake)
}

/** The record of `conv2d`. */
export const conv2d = {
  options: [
    ['out', ''],
    ['k', 'k'],
    ['s', 's'],
    ['p', 'p'],
    ['d', 'd'],
    ['groups', 'g'],
    ['bias', false, 'no-bias']
  ],
  required: ['out', 'k'],
  segment: local,
  transformable: (args: Conv2dArguments) => {
    const { kernel, stride } = toWindow(args)
    return [...stride, args.groups ?? 1].every((one) => one === 1) && kernel.every((taps) => taps === 3)
  },
  shape: unary(windowRule('conv2d', convolutionChannels))
} as const satisfies OpRecord<Conv2dArguments>

/** The type of what the rule of conv2d returns. */
export type ConvolutionShape<S extends Shape, A> = S extends readonly [
  infer B extends number,
  infer C extends number,
  infer H extends number,
  infer W extends number
]
  ? Convolution<
      B,
      C,
      [H, W],
      OptionValue<A, 'out', number>,
      OptionValue<A, 'groups', 1>,
      KernelSizes<A>,
      Stride<A, 1>,
      Dilation<A>,
      Pads<A>
    >
  : NoImage<'conv2d', S>

type Convolution<
  B extends number,
  C extends number,
  In extends Numbers2,
  Out,
  Groups,
  K extends Numbers2,
  T extends Numbers2,
  D extends Numbers2,
  P extends Numbers4
> = [Out, Groups] extends [infer O extends number, infer G extends number]
  ? AreWholePositive<`${O} ${G}`> extends false
    ? SizesError<'conv2d'>
    : GroupsError<'conv2d', C, O, G> extends infer Mistake
      ? Mistake extends string
        ? Mistake
        : Windowed<'conv2d', B, O, In, K, T, D, P, false>
      : never
  : never
