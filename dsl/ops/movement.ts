/**
 * Shapes of ops that move pixels and compute nothing: at run time and, with the same sentences, in
 * types.
 */
import * as E from 'fp-ts/Either'
import type { Add, ConvDim, Divides, Lte, Mul, NotNegative, AreWholePositive } from '../shapes/arithmetic'
import { imageRule, showShape, type NoImage, type Shape, type ShowShape } from '../shapes/shape'
import { local, pixelwise, unary, type OpRecord } from './op-record'
import { areIntegers, type OptionValue, type Padding } from './options'
import { toWindow, type Numbers4, type Pads } from './window'

/** The options of `pixelShuffle`. */
export interface PixelShuffleArguments {
  /**
   * Factor by which rows and columns are multiplied: PyTorch's upscale_factor. Its square must
   * divide the channels.
   */
  readonly factor: number
}

/** The options of `channelShuffle`. */
export interface ChannelShuffleArguments {
  /** Groups of channels that are interleaved; they must divide the channels. PyTorch's groups. */
  readonly groups: number
}

/** The options of `narrow`. */
export interface NarrowArguments {
  /** The first of the channels that are kept, from 0 on. PyTorch's start, of dimension 1. */
  readonly start: number
  /** How many are kept; the input must have that many from `start` on. PyTorch's length. */
  readonly length: number
}

/** The options of `pixelUnshuffle`. */
export interface PixelUnshuffleArguments {
  /**
   * Factor by which rows and columns are divided: PyTorch's downscale_factor. It must divide both.
   */
  readonly factor: number
}

/** The options of `pad`. */
export interface PadArguments {
  /**
   * Rows and columns added: one number for every side, [height, width] or [top, bottom, left,
   * right]. PyTorch's pad, whose order is (left, right, top, bottom). To reflect, they must be less
   * than the image has.
   */
  readonly p: Padding
  /**
   * Values of the added pixels: zeros by default (PyTorch's constant), `reflect` mirrors the rows
   * and columns behind the edge, without the edge itself, and `replicate` repeats the edge.
   */
  readonly mode?: PadMode
}

/** Names of the padding modes, in the order of the kernel's codes. */
export const padModes = ['zeros', 'reflect', 'replicate'] as const
/** What is written into the rows and columns that `pad` adds. */
export type PadMode = (typeof padModes)[number]

const factorError = (op: string): string => `${op}: the factor must be a whole number above 0`
type FactorError<P extends string> = `${P}: the factor must be a whole number above 0`

const pixelShuffleShape = imageRule<PixelShuffleArguments>('pixelShuffle', ({ factor }, [batch, channels, height, width]) =>
  !areIntegers([factor], 1)
    ? E.left(factorError('pixelShuffle'))
    : channels % (factor * factor) !== 0
      ? E.left(`pixelShuffle: its ${channels} channels are no multiple of ${factor * factor}, the factor's square`)
      : E.right([batch, channels / (factor * factor), height * factor, width * factor])
)

const pixelUnshuffleShape = imageRule<PixelUnshuffleArguments>('pixelUnshuffle', ({ factor }, [batch, channels, height, width]) =>
  !areIntegers([factor], 1)
    ? E.left(factorError('pixelUnshuffle'))
    : height % factor !== 0 || width % factor !== 0
      ? E.left(`pixelUnshuffle: the factor ${factor} does not divide ${showShape([height, width])}`)
      : E.right([batch, channels * factor * factor, height / factor, width / factor])
)

const padShape = imageRule<PadArguments>('pad', ({ p, mode = 'zeros' }, [batch, channels, height, width]) => {
  const { top, bottom, left, right } = toWindow({ k: 1, p }).padding
  if (!padModes.includes(mode)) return E.left('pad: the mode must be zeros, reflect or replicate')
  if (!areIntegers([top, bottom, left, right], 0)) return E.left('pad: paddings must be whole numbers, at least 0')
  if (mode === 'reflect' && (Math.max(top, bottom) >= height || Math.max(left, right) >= width))
    return E.left(`pad: a padding that reflects must be less than the image's ${showShape([height, width])}`)
  return E.right([batch, channels, height + top + bottom, width + left + right])
})

const channelShuffleShape = imageRule<ChannelShuffleArguments>('channelShuffle', ({ groups }, image) =>
  !areIntegers([groups], 1)
    ? E.left('channelShuffle: groups must be a whole number above 0')
    : image[1] % groups !== 0
      ? E.left(`channelShuffle: its ${image[1]} channels do not divide into ${groups} groups`)
      : E.right(image)
)

const narrowShape = imageRule<NarrowArguments>('narrow', ({ start, length }, [batch, channels, height, width]) =>
  !areIntegers([start], 0)
    ? E.left('narrow: the start must be a whole number, at least 0')
    : !areIntegers([length], 1)
      ? E.left('narrow: the length must be a whole number above 0')
      : start + length > channels
        ? E.left(`narrow: ${length} channels from ${start} on are more than its ${channels}`)
        : E.right([batch, length, height, width])
)

/** The record of `pixelShuffle`. */
export const pixelShuffle = {
  options: [['factor', 'x']],
  required: ['factor'],
  segment: local,
  shape: unary(pixelShuffleShape)
} as const satisfies OpRecord<PixelShuffleArguments>

/** The record of `pixelUnshuffle`. */
export const pixelUnshuffle = {
  options: [['factor', 'x']],
  required: ['factor'],
  segment: local,
  shape: unary(pixelUnshuffleShape)
} as const satisfies OpRecord<PixelUnshuffleArguments>

/** The record of `channelShuffle`. */
export const channelShuffle = {
  options: [['groups', '']],
  required: ['groups'],
  segment: pixelwise,
  shape: unary(channelShuffleShape)
} as const satisfies OpRecord<ChannelShuffleArguments>

/** The record of `narrow`. */
export const narrow = {
  options: [
    ['start', 'from'],
    ['length', '']
  ],
  required: ['start', 'length'],
  segment: pixelwise,
  shape: unary(narrowShape)
} as const satisfies OpRecord<NarrowArguments>

/** The record of `pad`. */
export const pad = {
  options: [
    ['p', 'p'],
    ['mode', '']
  ],
  required: ['p'],
  segment: local,
  shape: unary(padShape)
} as const satisfies OpRecord<PadArguments>

/** The number of times that Part fits into Whole. */
type Parts<All extends number, Part extends number> = ConvDim<All, 0, 0, Part, 1, Part, false>

/** The type of what the rule of pixelShuffle returns. */
export type PixelShuffleShape<S extends Shape, A> = S extends readonly [
  infer B extends number,
  infer C extends number,
  infer H extends number,
  infer W extends number
]
  ? OptionValue<A, 'factor', number> extends infer F extends number
    ? AreWholePositive<`${F}`> extends false
      ? FactorError<'pixelShuffle'>
      : Divides<Mul<F, F>, C> extends false
        ? `pixelShuffle: its ${C} channels are no multiple of ${Mul<F, F>}, the factor's square`
        : readonly [B, Parts<C, Mul<F, F>>, Mul<H, F>, Mul<W, F>]
    : never
  : NoImage<'pixelShuffle', S>

/** The type of what the rule of pixelUnshuffle returns. */
export type PixelUnshuffleShape<S extends Shape, A> = S extends readonly [
  infer B extends number,
  infer C extends number,
  infer H extends number,
  infer W extends number
]
  ? OptionValue<A, 'factor', number> extends infer F extends number
    ? AreWholePositive<`${F}`> extends false
      ? FactorError<'pixelUnshuffle'>
      : [Divides<F, H>, Divides<F, W>] extends [true, true]
        ? readonly [B, Mul<C, Mul<F, F>>, Parts<H, F>, Parts<W, F>]
        : `pixelUnshuffle: the factor ${F} does not divide ${ShowShape<readonly [H, W]>}`
    : never
  : NoImage<'pixelUnshuffle', S>

/** The type of what the rule of channelShuffle returns. */
export type ChannelShuffleShape<S extends Shape, A> = S extends readonly [number, infer C extends number, number, number]
  ? OptionValue<A, 'groups', number> extends infer G extends number
    ? AreWholePositive<`${G}`> extends false
      ? 'channelShuffle: groups must be a whole number above 0'
      : Divides<G, C> extends false
        ? `channelShuffle: its ${C} channels do not divide into ${G} groups`
        : S
    : never
  : NoImage<'channelShuffle', S>

/** The type of what the rule of narrow returns. */
export type NarrowShape<S extends Shape, A> = S extends readonly [
  infer B extends number,
  infer C extends number,
  infer H extends number,
  infer W extends number
]
  ? [OptionValue<A, 'start', number>, OptionValue<A, 'length', number>] extends [infer From extends number, infer L extends number]
    ? NotNegative<`${From}`> extends false
      ? 'narrow: the start must be a whole number, at least 0'
      : AreWholePositive<`${L}`> extends false
        ? 'narrow: the length must be a whole number above 0'
        : Lte<Add<From, L>, C> extends false
          ? `narrow: ${L} channels from ${From} on are more than its ${C}`
          : readonly [B, L, H, W]
    : never
  : NoImage<'narrow', S>

/** The type of what the rule of pad returns. */
export type PadShape<S extends Shape, A> = S extends readonly [
  infer B extends number,
  infer C extends number,
  infer H extends number,
  infer W extends number
]
  ? Pads<A> extends infer P extends Numbers4
    ? NotNegative<`${P[0]} ${P[1]} ${P[2]} ${P[3]}`> extends true
      ? [OptionValue<A, 'mode', 'zeros'>, Below<P, H, W>] extends ['reflect', false]
        ? `pad: a padding that reflects must be less than the image's ${ShowShape<readonly [H, W]>}`
        : readonly [B, C, Add<H, Add<P[0], P[1]>>, Add<W, Add<P[2], P[3]>>]
      : 'pad: paddings must be whole numbers, at least 0'
    : never
  : NoImage<'pad', S>
type Below<P extends Numbers4, H extends number, W extends number> = [
  Lte<Add<P[0], 1>, H>,
  Lte<Add<P[1], 1>, H>,
  Lte<Add<P[2], 1>, W>,
  Lte<Add<P[3], 1>, W>
] extends [true, true, true, true]
  ? true
  : false
