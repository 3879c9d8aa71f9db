import type { Layers, Op } from './arguments'
import type { Add } from './arithmetic'
import type { Dim } from './segment'
import type { BytesOf, Shape } from './shape'

/** At run time a tensor is the shape that the net started from and the layers applied since. */
export interface AnyTensor {
  readonly input: Shape
  readonly layers: Layers
}

declare const segment: unique symbol
declare const mistake: unique symbol

/** The shapes that a segment's layers have written so far, the last one first. They are only added up where a budget asks. */
export type Written = readonly [] | readonly [last: Shape, before: Written]

/** Bytes of float32 tensors; `number` when what was written is not known. */
export type BytesWritten<L extends Written, Total extends number = 0> = Written extends L
  ? number
  : L extends readonly [infer S extends Shape, infer Before extends Written]
    ? BytesWritten<Before, Add<Total, BytesOf<S>>>
    : Total

/**
 * What the types know of a tensor: its shape S; F, the dimensions along which the segment that ends here can be tiled;
 * Held, what the segment holds; Tiled, the dimensions along which it is asked to be tiled; Last, its last op so far, never
 * where it has none yet.
 */
export interface Tensor<
  S extends Shape = Shape,
  F extends Dim = Dim,
  Held extends Written = Written,
  Tiled extends Dim = never,
  Last extends Op = never
> extends AnyTensor {
  readonly [segment]: readonly [shape: S, dims: F, held: Held, tiled: Tiled, last: Last]
}

/** The shape of a tensor. */
export type ShapeOf<X> = X extends Tensor<infer S, Dim, Written, Dim, Op> ? S : never

/** Bytes (float32) that the layers since the last checkpoint have written. */
export type HeldBytes<X> = X extends Tensor<Shape, Dim, infer Held, Dim, Op> ? BytesWritten<Held> : never

/** The tensor with which a net starts. */
export type Start<S extends Shape> = Tensor<S, Dim, readonly []>

/** A mistake: no value has this type, so the compiler prints the sentence where one is expected. */
export interface Bad<Sentence extends string> {
  readonly [mistake]: Sentence
}

/** What a parameter must be besides X for the result Y: anything, unless Y is a mistake. */
export type Accept<Y> = Y extends Bad<string> ? Y : unknown
