/** Shapes of ops that move pixels and compute nothing: at run time and, with the same sentences, in types. */
import * as E from 'fp-ts/Either'
import type { ConvDim, Divides, Mul, Whole } from '../arithmetic'
import { imageRule, showShape, type NoImage, type Shape, type ShowShape } from '../shape'
import { local, unary, type OpRecord } from './op-record'
import { wholes, type Option } from './options'

export interface PixelShuffleArguments {
  /** How many times as many rows and columns come out: PyTorch's upscale_factor. Its square must divide the channels. */
  readonly factor: number
}

export interface PixelUnshuffleArguments {
  /** How many times fewer rows and columns come out: PyTorch's downscale_factor. It must divide both. */
  readonly factor: number
}

const factorMistake = (op: string): string => `${op}: the factor must be a whole number above 0`
type FactorMistake<P extends string> = `${P}: the factor must be a whole number above 0`

const pixelShuffleShape = imageRule<PixelShuffleArguments>('pixelShuffle', ({ factor }, [batch, channels, height, width]) =>
  !wholes([factor], 1)
    ? E.left(factorMistake('pixelShuffle'))
    : channels % (factor * factor) !== 0
      ? E.left(`pixelShuffle: its ${channels} channels are no multiple of ${factor * factor}, the factor's square`)
      : E.right([batch, channels / (factor * factor), height * factor, width * factor])
)

const pixelUnshuffleShape = imageRule<PixelUnshuffleArguments>('pixelUnshuffle', ({ factor }, [batch, channels, height, width]) =>
  !wholes([factor], 1)
    ? E.left(factorMistake('pixelUnshuffle'))
    : height % factor !== 0 || width % factor !== 0
      ? E.left(`pixelUnshuffle: the factor ${factor} does not divide ${showShape([height, width])}`)
      : E.right([batch, channels * factor * factor, height / factor, width / factor])
)

export const pixelShuffle = {
  options: [['factor', 'x']],
  required: ['factor'],
  segment: local,
  shape: unary(pixelShuffleShape)
} as const satisfies OpRecord<PixelShuffleArguments>

export const pixelUnshuffle = {
  options: [['factor', 'x']],
  required: ['factor'],
  segment: local,
  shape: unary(pixelUnshuffleShape)
} as const satisfies OpRecord<PixelUnshuffleArguments>

/** How often Part fits into Whole. */
type Parts<All extends number, Part extends number> = ConvDim<All, 0, 0, Part, 1, Part, false>

/** The type of what the rule of pixelShuffle returns. */
export type PixelShuffleShape<S extends Shape, A> = S extends readonly [
  infer B extends number,
  infer C extends number,
  infer H extends number,
  infer W extends number
]
  ? Option<A, 'factor', number> extends infer F extends number
    ? Whole<`${F}`> extends false
      ? FactorMistake<'pixelShuffle'>
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
  ? Option<A, 'factor', number> extends infer F extends number
    ? Whole<`${F}`> extends false
      ? FactorMistake<'pixelUnshuffle'>
      : [Divides<F, H>, Divides<F, W>] extends [true, true]
        ? readonly [B, Mul<C, Mul<F, F>>, Parts<H, F>, Parts<W, F>]
        : `pixelUnshuffle: the factor ${F} does not divide ${ShowShape<readonly [H, W]>}`
    : never
  : NoImage<'pixelUnshuffle', S>
