import type { Layers } from './arguments'
import { layer, type Layer } from './layer'

/** What `residual` has: both branches read x, and their results are added. */
export interface Residual<M extends Layers, S extends Layers> {
  readonly main: M
  readonly shortcut: S
}
/** What `gated` has: both branches read x, and their results are multiplied. */
export interface Gated<M extends Layers, G extends Layers> {
  readonly main: M
  readonly gate: G
}
/** What `parallel` has: all branches read x, and their results are concatenated. */
export interface Parallel<B extends readonly Layers[]> {
  readonly branches: B
}

/**
 * main(x) + shortcut(x); without a shortcut main(x) + x (He et al., 2015). A shortcut [B, C, 1, 1]
 * is added to all pixels of a channel. A block adds nothing to the names of its layers.
 */
export function residual<const M extends Layers>(main: M): Layer<'residual', Residual<M, readonly []>>
/**
 * main(x) + shortcut(x) (He et al., 2015). A shortcut [B, C, 1, 1] is added to all pixels of a
 * channel.
 */
export function residual<const M extends Layers, const S extends Layers>(main: M, shortcut: S): Layer<'residual', Residual<M, S>>
export function residual(main: Layers, shortcut: Layers = []): unknown {
  return layer('residual', { main, shortcut })
}

/**
 * main(x) times gate(x), element by element; a gate [B, C, 1, 1] multiplies all pixels of a channel
 * (squeeze and excitation: Hu, Shen and Sun, 2018). An empty main is x itself.
 */
export const gated = <const M extends Layers, const G extends Layers>(main: M, gate: G): Layer<'gated', Gated<M, G>> =>
  layer<'gated', Gated<M, G>>('gated', { main, gate })

/**
 * Applies all branches to the same x and concatenates their results along the channels, as in
 * Inception (Szegedy et al., 2014); an empty branch is x itself. [B, C_i, H, W] of each branch give
 * [B, sum of C_i, H, W].
 */
export const parallel = <const B extends readonly Layers[]>(branches: B): Layer<'parallel', Parallel<B>> =>
  layer<'parallel', Parallel<B>>('parallel', { branches })

/**
 * Concatenates x and layers(x) along the channels, the block of DenseNet (Huang et al., 2016): [B,
 * C, H, W] and [B, D, H, W] give [B, C + D, H, W].
 */
export const denseBlock = <const L extends Layers>(layers: L): Layer<'parallel', Parallel<readonly [readonly [], L]>> =>
  layer<'parallel', Parallel<readonly [readonly [], L]>>('parallel', { branches: [[], layers] })
