import type { Layers } from './arguments'
import type { Dim } from './segment'
import type { Shape } from './shape'

/** At run time a tensor is the shape that the net started from and the layers applied since. */
export interface AnyTensor {
  readonly input: Shape
  readonly layers: Layers
}

declare const segment: unique symbol

/**
 * What the types know of a tensor: its shape S; F, the dimensions along which the segment that ends here can be tiled;
 * Held, the float32 bytes that the segment's layers have written so far; Tiled, the dimensions it is asked to be tiled along.
 */
export interface Tensor<S extends Shape = Shape, F extends Dim = Dim, Held extends number = number, Tiled extends Dim = never> extends AnyTensor {
  readonly [segment]?: readonly [shape: S, dims: F, held: Held, tiled: Tiled]
}

/** The tensor with which a net starts. */
export type Start<S extends Shape> = Tensor<S, Dim, 0, never>

/** A mistake: no value has this type, so the compiler prints the sentence where one is expected. */
export interface Bad<Sentence extends string> {
  readonly [segment]: Sentence
}

/** What a parameter must be besides X for the result Y: anything, unless Y is a mistake. */
export type Accept<Y> = Y extends Bad<string> ? Y : unknown
