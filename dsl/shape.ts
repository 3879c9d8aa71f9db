import type { Mul } from './arithmetic'

/** [B, C, H, W] of an image batch, [B, C] of vectors, [] of a loss; `number` where a size is known at run time only. */
export type Shape = readonly number[]

/** "1x3x512x512"; a loss is "a scalar". */
export const showShape = (shape: Shape): string => (shape.length === 0 ? 'a scalar' : shape.join('x'))

/** The type of what showShape returns. */
export type ShowShape<S extends Shape> = S extends readonly []
  ? 'a scalar'
  : S extends readonly [infer First extends number, ...infer Rest extends Shape]
    ? Rest extends readonly []
      ? `${First}`
      : `${First}x${ShowShape<Rest>}`
    : string

/** Bytes of a float32 tensor. */
export const bytesOf = (shape: Shape): number => shape.reduce((product, extent) => product * extent, 4)

/** The type of what bytesOf returns. */
export type BytesOf<S extends Shape> = S extends readonly [
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
