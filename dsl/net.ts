import type { ApplyLayers } from './typing/apply'
import type { AnyLayer, Layers } from './arguments'
import type { Fit } from './typing/fit'
import { layer, type Layer } from './layer'
import type { Shape } from './shapes/shape'
import type { Images } from './shapes/input-shape'
import type { Accept, AnyTensor, Start } from './typing/tensor'

/**
 * Starts a net with the shape [B, C, H, W] of its images: B images of C channels, H rows and W
 * columns.
 */
export const input = <const S extends Shape>(shape: Accept<Images<S>> & S): Start<S> =>
  ({ input: shape, layers: [] }) as unknown as Start<S>

/** The tensor after all `layers`, in order. A layer that does not fit is an error at that layer. */
export const net = <X extends AnyTensor, const L extends Layers>(x: X, layers: Fit<X, L> & L): ApplyLayers<X, L> =>
  ({ ...x, layers: [...x.layers, ...layers] }) as unknown as ApplyLayers<X, L>

/** The layer that `seq` makes of a list of layers. */
export interface Listed<L extends Layers> {
  readonly layers: L
}
/** The layer that `seq` makes of a name and a list of layers. */
export interface Sequence<N extends string, L extends Layers> {
  readonly name: N
  readonly layers: L
}
/** The layer that `named` makes: another layer under a name. */
export interface Named<N extends string, L extends AnyLayer> {
  readonly name: N
  readonly layer: L
}
/** What `checkpointWithin` has: the limit in bytes. */
export interface Within<N extends number> {
  readonly budget: N
}

/** Several layers as one, named by its place or by `name`. */
export function seq<const L extends Layers>(layers: L): Layer<'seq', Listed<L>>
/** Several layers as one, whose names begin with `name`. */
export function seq<const N extends string, const L extends Layers>(name: N, layers: L): Layer<'seq', Sequence<N, L>>
export function seq(...given: readonly [Layers] | readonly [string, Layers]): unknown {
  return layer('seq', given.length === 1 ? { layers: given[0] } : { name: given[0], layers: given[1] })
}

/**
 * Names one layer, in place of its number in the list: its weights are `name.weight` and
 * `name.bias`.
 */
export const named = <const N extends string, const L extends AnyLayer>(name: N, inner: L): Layer<'named', Named<N, L>> =>
  layer<'named', Named<N, L>>('named', { name, layer: inner })

/**
 * Ends a segment: its output is saved for backward, and all else that it held may be freed and
 * recomputed (Chen et al., 2016).
 */
export const checkpoint = layer('checkpoint', {})

/** A checkpoint that refuses a segment whose layers write more than `budget` bytes (float32). */
export const checkpointWithin = <const N extends number>(budget: N): Layer<'checkpoint', Within<N>> =>
  layer<'checkpoint', Within<N>>('checkpoint', { budget })
