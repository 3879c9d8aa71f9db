import type { Lte, Whole } from './arithmetic'
import type { AnyLayer, Arguments, Layers, Mark, Op } from './arguments'
import type { OutputShape } from './rules'
import type { Dim, DimsAtStart, InPlace, InsideDims, LastDims, ShowDims } from './segment'
import type { Shape } from './shape'
import type { AnyTensor, Bad, BytesWritten, Tensor, Written } from './tensor'

/** The tensor that a layer makes of X, or the mistake. */
export type Apply<X, N extends keyof Arguments, A> =
  X extends Tensor<infer S, infer F, infer Held, infer Tiled, infer Last>
    ? N extends Op
      ? ApplyOp<N, F, Held, Tiled, Last, OutputShape<N, S, A>>
      : N extends 'checkpoint'
        ? Checkpoint<S, Held, A>
        : N extends 'tile'
          ? Tile<S, F, Held, Tiled, Last, A>
          : Contained<X, A>
    : never

/** Containers put their name before a sentence from inside. */
type Contained<X, A> = A extends { readonly name: infer Name extends string; readonly layer: infer L extends AnyLayer }
  ? Under<Name, Apply<X, L['op'], L['args']>>
  : A extends { readonly layers: infer L extends Layers }
    ? A extends { readonly name: infer Name extends string }
      ? Under<Name, Through<X, L>>
      : Through<X, L>
    : never

/** Y: the shape that the op makes of S, or the sentence why there is none. */
type ApplyOp<N extends Op, F extends Dim, Held extends Written, Tiled extends Dim, Last extends Op, Y> = Y extends Shape
  ? [Tiled] extends [InsideDims<Last>]
    ? [Tiled] extends [LastDims<N>]
      ? Tensor<Y, Extract<F, InsideDims<Last> & LastDims<N>>, InPlace<N> extends true ? Held : readonly [Y, Held], Tiled, N>
      : Bad<`${N}: cannot tile along ${ShowDims<Exclude<Tiled, LastDims<N>>>}; ${N} allows ${ShowDims<LastDims<N>>}`>
    : Bad<`${N}: cannot tile along ${ShowDims<Exclude<Tiled, InsideDims<Last>>>}; ${Last} sums over the pixels, so it must be the segment's last op (put a checkpoint after it)`>
  : Y extends string
    ? Bad<Y>
    : never

type Checkpoint<S extends Shape, Held extends Written, A> = A extends { readonly budget: infer Budget extends number }
  ? BytesWritten<Held> extends infer Bytes extends number
    ? Lte<Bytes, Budget> extends true
      ? Closed<S>
      : Bad<`this segment holds ${Bytes} bytes, over the budget of ${Budget}`>
    : never
  : Closed<S>
type Closed<S extends Shape> = Tensor<S, DimsAtStart<S>, readonly []>

type Tile<S extends Shape, F extends Dim, Held extends Written, Tiled extends Dim, Last extends Op, A> =
  false extends Whole<`${A[keyof A] & number}`>
    ? Bad<'tile: counts must be whole numbers above 0'>
    : Wanted<A> extends infer D extends string
      ? [D] extends [F]
        ? Tensor<S, F, Held, Tiled | D, Last>
        : Bad<`tile: cannot tile along ${ShowDims<Exclude<D, F>>}; this segment allows ${ShowDims<F>}`>
      : never
/** The dimensions that are to be cut into more than one tile. */
type Wanted<A> = { [D in keyof A]: A[D] extends 1 ? never : D }[keyof A]

/** What a list of layers makes of X: the tensor, or the mistake with the place of its layer in the list. */
export type Through<X, L extends Layers> = Walk<X, L> extends infer Y ? (Y extends readonly unknown[] ? Mistake<L, Y> : Y) : never

/** What a list must be besides L: anything, unless one of its layers is a mistake; then a tuple with the sentence in its place. */
export type Fit<X, L extends Layers> = Walk<X, L> extends infer Y ? (Y extends readonly unknown[] ? Y : unknown) : never

/** The tensor after all of L; or a tuple as long as L, `unknown` everywhere but where the mistake is. */
type Walk<X, L extends Layers, Passed extends readonly unknown[] = readonly []> = L extends readonly [
  infer First extends AnyLayer,
  ...infer Rest extends Layers
]
  ? Apply<X, First['op'], First['args']> extends infer Y
    ? Y extends AnyTensor
      ? Walk<Y, Rest, readonly [...Passed, unknown]>
      : readonly [...Passed, Y, ...{ [K in keyof Rest]: unknown }]
    : never
  : number extends L['length']
    ? Tensor
    : X

/** The one mistake of a Walk that failed, under the layer's name. */
type Mistake<L extends Layers, Walked extends readonly unknown[], Places extends readonly unknown[] = readonly []> = L extends readonly [
  infer First extends AnyLayer,
  ...infer Rest extends Layers
]
  ? Walked extends readonly [infer Y, ...infer Others]
    ? Y extends Bad<string>
      ? First['args'] extends { readonly name: string }
        ? Y
        : Under<`${Places['length'] & number}`, Y>
      : Mistake<Rest, Others, First['op'] extends Mark ? Places : readonly [...Places, unknown]>
    : never
  : never

/** "in features.4: conv2d: …" */
type Under<Name extends string, Y> =
  Y extends Bad<infer Sentence> ? Bad<Sentence extends `in ${infer Path}` ? `in ${Name}.${Path}` : `in ${Name}: ${Sentence}`> : Y
