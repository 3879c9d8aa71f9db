import * as E from 'fp-ts/Either'
import type { Mul } from './arithmetic'
import type { OneSize } from '../ops/options'

/**
 * [B, C, H, W] of an image batch, [B, C] of vectors, [] of a loss; `number` where a size is known
 * at run time only.
 */
export type Shape = readonly number[]

/** S, where a size that is a type parameter's, or one of several, is any. */
export type WidenedSizes<S extends Shape> = { readonly [K in keyof S]: [number] extends [S[K]] ? number : OneSize<S[K]> }

/** "1x3x512x512"; a loss is "a scalar". */
export const showShape = (shape: Shape): string => (shape.length === 0 ? 'a scalar' : shape.join('x'))

/** The type of what showShape returns; a size that is not known is a question mark. */
export type ShowShape<S extends Shape> = S extends readonly []
  ? 'a scalar'
  : S extends readonly [infer First extends number, ...infer Rest extends Shape]
    ? `${number extends First ? '?' : First}${Rest extends readonly [] ? '' : `x${ShowShape<Rest>}`}`
    : string

/** Returns the bytes of a float32 tensor of this shape. */
export const float32Bytes = (shape: Shape): number => shape.reduce((product, extent) => product * extent, 4)

/** The type of what float32Bytes returns. */
export type Float32Bytes<S extends Shape> = S extends readonly [
  infer B extends number,
  infer C extends number,
  infer H extends number,
  infer W extends number
]
  ? Mul<Mul<B, C>, Mul<4, Mul<H, W>>>
  : S extends readonly [infer B extends number, infer C extends number]
    ? Mul<4, Mul<B, C>>
    : S extends readonly []
      ? 4
      : number

/**
 * A shape rule: returns the output's shape, or one sentence that says why there is none. `start` is
 * the shape with which the innermost block, or the net, starts.
 */
export type ShapeRule<A> = (args: A, inputs: readonly Shape[], start: Shape) => E.Either<string, Shape>

/** The shape rule of an op of one tensor. */
export type UnaryRule<A> = (args: A, input: Shape, start: Shape) => E.Either<string, Shape>

type Image = readonly [batch: number, channels: number, height: number, width: number]

/** Makes the shape rule of an op that takes images only. */
export const imageRule =
  <A>(op: string, rule: (args: A, image: Image, start: Shape) => E.Either<string, Shape>): UnaryRule<A> =>
  (args, input, start) =>
    input.length === 4 ? rule(args, input as Image, start) : E.left(`${op}: takes an image BxCxHxW, not ${showShape(input)}`)

/** A shape of unknown rank is accepted: staging checks it again at run time. */
export type Mismatch<S extends Shape, Sentence extends string> = number extends S['length'] ? Shape : Sentence
/** The sentence of an op that takes images, where the shape S is none. */
export type NoImage<P extends string, S extends Shape> = Mismatch<S, `${P}: takes an image BxCxHxW, not ${ShowShape<S>}`>
