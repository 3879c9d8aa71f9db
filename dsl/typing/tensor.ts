import type { Layers } from '../arguments'
import type { DigitsOf, NumberOf, Sum } from '../shapes/arithmetic'
import type { Dim, SegmentOp } from '../shapes/segment'
import type { Float32Bytes, Shape } from '../shapes/shape'

/** At run time a tensor is the shape that the net started from and the layers applied since. */
export interface AnyTensor {
  readonly input: Shape
  readonly layers: Layers
}

declare const segment: unique symbol
declare const mistake: unique symbol

/**
 * The shapes that a segment's layers have written so far, the last one first. They are only added
 * up where a budget asks.
 */
export interface Writes<S extends Shape, Before> {
  readonly last: S
  readonly before: Before
}
/** The state of a segment at its beginning, when it has written nothing. */
export type NoWrites = 'nothing'

/**
 * Sum of the bytes that a segment's layers have written, in float32; `number` when it is not known.
 */
export type BytesWritten<W, Total = '0'> =
  W extends Writes<infer S, infer Before>
    ? DigitsOf<Float32Bytes<S>> extends infer Bytes extends string
      ? BytesWritten<Before, Sum<Total, Bytes>>
      : number
    : W extends NoWrites
      ? NumberOf<Total>
      : number

/** Tile counts that `tile` asks for so far; a later count takes the place of an earlier one. */
export type TileCounts = Readonly<Partial<Record<Dim, number>>>

/** The directives of a segment so far. */
export type SegmentDirectives = readonly [
  /** Dimensions along which it is asked to be tiled. */
  tiled: Dim,
  /** Tile counts that are asked for. */
  counts: TileCounts,
  /** The segment's number, as the length of a tuple: the checkpoints before it, plus one. */
  number: readonly unknown[]
]

/**
 * The type's knowledge of the segment so far. Ops follow each other in the flattened list's order,
 * whatever they read; so one segment goes on from the end of a branch into the next one.
 */
export type SegmentState = readonly [
  /** Its last op so far; never at its start. */
  last: SegmentOp,
  /** The shape that the last op takes; at the start the one that the segment starts with. */
  taken: Shape,
  /**
   * The reason why it cannot be tiled along all dimensions where an op in it needs statistics;
   * never where none does.
   */
  statistical: string,
  directives: SegmentDirectives
]

/**
 * The net or block that a tensor stands in, with the shape with which it starts and the layers
 * before the list that is being walked through.
 */
export type EnclosingScope = readonly [of: 'net' | 'block', start: Shape, layers: Layers]

/**
 * The origin of a tensor: the number of the segment that made it (none for the net's input), and
 * the net or block that it stands in.
 */
export type TensorOrigin = readonly [segment: readonly unknown[], around: EnclosingScope]

/* eslint-disable @typescript-eslint/no-explicit-any -- Any tensor is assignable to `Tensor`, whatever made it. */
/**
 * A tensor in types: its shape S; the dimensions F along which the segment that ends here can be
 * tiled; the segment G and what it wrote, W; and its origin O. W is a chain as long as the segment,
 * which to compare costs: so that the compiler never does, tensors are taken apart by `infer` in
 * every place. `Tensor` stands for any tensor, `Tensor<S>` for any of shape S.
 */
export interface Tensor<
  S extends Shape = Shape,
  F extends Dim = any,
  G extends SegmentState = any,
  O extends TensorOrigin = any,
  W = any
> extends AnyTensor {
  readonly layers: O[1][2]
  readonly [segment]: readonly [shape: S, dims: F, segment: G, origin: O, written: W]
}
/* eslint-enable @typescript-eslint/no-explicit-any */

/** The shape of a tensor. */
export type ShapeOf<X> = X extends Tensor<infer S, infer _F, infer _G, infer _O, infer _W> ? S : never

/** The shape with which the net of a tensor starts. */
export type InputOf<X> = X extends Tensor<infer _S, infer _F, infer _G, infer O, infer _W> ? O[1][1] : Shape
/** The layers of the net that a tensor is of. */
export type LayersOf<X> = X extends Tensor<infer _S, infer _F, infer _G, infer O, infer _W> ? O[1][2] : Layers

/**
 * Bytes (float32) that the layers since the last checkpoint have written, as a type: for tests of
 * models.
 */
export type HeldBytes<X> = X extends Tensor<infer _S, infer _F, infer _G, infer _O, infer W> ? BytesWritten<W> : never

/** The tensor with which a net starts. */
export type Start<S extends Shape> = Tensor<
  S,
  Dim,
  readonly [never, S, never, readonly [never, {}, readonly [unknown]]],
  readonly [readonly [], readonly ['net', S, readonly []]],
  NoWrites
>

/** A mistake: no value has this type, so the compiler prints the sentence where one is expected. */
export interface Invalid<Sentence extends string> {
  readonly [mistake]: Sentence
}

/**
 * The type that a parameter must have besides X for the result Y: unknown, unless Y is a mistake.
 */
export type Accept<Y> = [Y] extends [Invalid<string>] ? Y : unknown
