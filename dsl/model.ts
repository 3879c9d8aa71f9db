import type { WalkToEnd } from './typing/walk'
import type { Layers } from './arguments'
import type { FitToEnd, WholeModel } from './typing/fit'
import type { Images } from './shapes/input-shape'
import type { Shape } from './shapes/shape'
import type { Accept, AnyTensor, InputOf, LayersOf, ShapeOf, Start, Tensor } from './typing/tensor'

declare const scores: unique symbol

/**
 * A network under a name; `input` [B, C, H, W] is what it is checked and planned for unless another
 * is given. In types its name N, its input S, what it makes of it, Y, and its layers L.
 */
export interface Model<N extends string = string, S extends Shape = Shape, Y = unknown, L extends Layers = Layers> {
  readonly name: N
  readonly layers: L
  readonly input?: S
  /** The type of the model's scores; it exists in types only. */
  readonly [scores]?: Y
}

type Images4 = readonly [number, number, number, number]

/** The shape of a list's output for images of shape S. */
type Scores<S extends Shape, L extends Layers> =
  WalkToEnd<Start<S>, L> extends infer Y ? (Y extends Tensor<infer Z, infer _F, infer _G, infer _O, infer _W> ? Z : Shape) : never

/**
 * A model from its layers. A layer that does not fit what comes before it is an error at that
 * layer; without `input`, as far as it fits images of no size.
 */
export const model = <const N extends string, const L extends Layers, const S extends Shape = Images4>(definition: {
  readonly name: N
  readonly input?: Accept<Images<S>> & S
  readonly layers: FitToEnd<Start<S>, L> & L
}): Model<N, S, Scores<S, L>, L> => definition as unknown as Model<N, S, Scores<S, L>, L>

/** A model from what fp-ts `pipe` or `net` made. */
export const modelOf = <const N extends string, X extends AnyTensor>(
  name: N,
  { input, layers }: WholeModel<X> & X
): Model<N, InputOf<X>, ShapeOf<X>, LayersOf<X>> => ({ name, input, layers }) as unknown as Model<N, InputOf<X>, ShapeOf<X>, LayersOf<X>>
