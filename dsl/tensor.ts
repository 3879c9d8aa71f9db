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
export interface Wrote<S extends Shape, Before> {
  readonly last: S
  readonly before: Before
}
export type Nothing = 'nothing'

/** Bytes of float32 tensors; `number` when what was written is not known. */
export type BytesWritten<W, Total extends number = 0> =
  W extends Wrote<infer S, infer Before> ? BytesWritten<Before, Add<Total, BytesOf<S>>> : W extends Nothing ? Total : number

/**
 * What the layers before know of the segment so far. Ops follow each other in the flattened list's order, whatever they read; so one
 * segment goes on from the end of a branch into the next one.
 */
export type Segment = readonly [
  /** Dimensions along which it is asked to be tiled. */
  tiled: Dim,
  /** Its last op so far; never at its start. */
  last: Op,
  /** Why it cannot be tiled along all dimensions where an op in it needs statistics; never where none does. */
  statistical: string,
  /** As long as there are checkpoints before it, plus one. */
  number: readonly unknown[]
]

/**
 * How a tensor came about: the number of the segment that made it, as of Segment, and none for the net's input; and what it stands in, with
 * the shape with which that starts.
 */
export type Origin = readonly [segment: readonly unknown[], around: 'net' | 'block', start: Shape]

/**
 * What the types know of a tensor: its shape S; F, the dimensions along which the segment that ends here can be tiled; the segment G and
 * what it wrote, W; and its origin O. W is a chain as long as the segment, which to compare costs: so that the compiler never does, tensors
 * are taken apart by `infer` in every place.
 */
export interface Tensor<
  S extends Shape = Shape,
  F extends Dim = Dim,
  G extends Segment = readonly [never, never, never, readonly [unknown]],
  O extends Origin = readonly [readonly unknown[], 'net', Shape],
  W = unknown
> extends AnyTensor {
  readonly [segment]: readonly [shape: S, dims: F, segment: G, origin: O, written: W]
}

/** The shape of a tensor. */
export type ShapeOf<X> = X extends Tensor<infer S, infer _F, infer _G, infer _O, infer _W> ? S : never

/** Bytes (float32) that the layers since the last checkpoint have written. */
export type HeldBytes<X> = X extends Tensor<infer _S, infer _F, infer _G, infer _O, infer W> ? BytesWritten<W> : never

/** The tensor with which a net starts. */
export type Start<S extends Shape> = Tensor<
  S,
  Dim,
  readonly [never, never, never, readonly [unknown]],
  readonly [readonly [], 'net', S],
  Nothing
>

/** A mistake: no value has this type, so the compiler prints the sentence where one is expected. */
export interface Bad<Sentence extends string> {
  readonly [mistake]: Sentence
}

/** What a parameter must be besides X for the result Y: anything, unless Y is a mistake. */
export type Accept<Y> = Y extends Bad<string> ? Y : unknown
