import type { Lte, Whole } from './arithmetic'
import type { AnyLayer, Arguments, Layers, Mark, Op } from './arguments'
import type { OutputShape } from './rules'
import type { Dim, DimsAtStart, InPlace, InsideDims, LastDims, Normalisation, ShowDims, StatisticsOf } from './segment'
import type { Shape } from './shape'
import type { Bad, BytesWritten, Nothing, Origin, Segment, ShapeOf, Tensor, Wrote } from './tensor'

/** The tensor that a layer makes of X, or the mistake. */
export type Apply<X, N extends keyof Arguments, A> = Result<Made<X, N, A>>
type Result<Y> = Y extends string ? Bad<Y> : Y

/** The tensor, or the sentence that says why there is none: a string, which the compiler tells from a tensor without looking into it. */
type Made<X, N, A> =
  X extends Tensor<infer S, infer F, infer G, infer O, infer W>
    ? N extends Op
      ? ApplyOp<N, A, F, G, O, W, OutputShape<N, S, A, O[2]>>
      : N extends 'checkpoint'
        ? Checkpoint<S, G, O, W, A>
        : N extends 'tile'
          ? Tile<S, F, G, O, W, A>
          : Contained<X, A>
    : never

/** Containers put their name before a sentence from inside; blocks have none. */
type Contained<X, A> = A extends { readonly name: infer Name extends string; readonly layer: infer L extends AnyLayer }
  ? Under<Name, Made<X, L['op'], L['args']>>
  : A extends { readonly layers: infer L extends Layers }
    ? A extends { readonly name: infer Name extends string }
      ? Under<Name, Passed<X, L>>
      : Passed<X, L>
    : A extends { readonly main: infer M extends Layers; readonly shortcut: infer S extends Layers }
      ? Branches<X, X, 'add', readonly [M, S]>
      : A extends { readonly branches: infer B extends readonly Layers[] }
        ? Branches<X, X, 'concat', B>
        : never

/** Y: the shape that the op makes, or the sentence why there is none. */
type ApplyOp<N extends Op, A, F extends Dim, G extends Segment, O extends Origin, W, Y> = Y extends string
  ? Y
  : Y extends Shape
    ? [G[0]] extends [InsideDims<G[1]>]
      ? [G[0]] extends [LastDims<N>]
        ? N extends Normalisation
          ? O[0]['length'] extends 0 | G[3]['length']
            ? Normalised<N, F, G, O, W, Y, StatisticsOf<N, A>>
            : After<N, F, G, O, W, Y, G[2]>
          : After<N, F, G, O, W, Y, G[2]>
        : `${N}: cannot tile along ${ShowDims<Exclude<G[0], LastDims<N>>>}; ${N} allows ${ShowDims<LastDims<N>>}`
      : `${N}: cannot tile along ${ShowDims<Exclude<G[0], InsideDims<G[1]>>>}; ${G[1]} sums over the pixels, so it must be the segment's last op (put a checkpoint after it)`
    : never

type After<N extends Op, F extends Dim, G extends Segment, O extends Origin, W, Y extends Shape, Statistical extends string> = Tensor<
  Y,
  Extract<F, InsideDims<G[1]> & LastDims<N>>,
  readonly [G[0], N, Statistical, G[3]],
  readonly [G[3], O[1], O[2]],
  InPlace<N> extends true ? W : Wrote<Y, W>
>

/** An op that needs statistics along D of what this segment makes, or of the net's input. */
type Normalised<N extends Op, F extends Dim, G extends Segment, O extends Origin, W, Y extends Shape, D extends Dim> = [G[0] & D] extends [
  never
]
  ? After<N, Exclude<F, D>, G, O, W, Y, [F & D] extends [never] ? G[2] : NeedsStatistics<N, O[0]['length']>>
  : `${N}: cannot tile along ${ShowDims<G[0] & D>}; ${NeedsStatistics<N, O[0]['length']>}`
type NeedsStatistics<
  N extends Op,
  Made extends number
> = `${N} needs the statistics of the whole ${Made extends 0 ? 'input, so put a checkpoint after it' : 'tensor before it, so put a checkpoint before it'}`

type Checkpoint<S extends Shape, G extends Segment, O extends Origin, W, A> = A extends { readonly budget: infer Budget extends number }
  ? BytesWritten<W> extends infer Bytes extends number
    ? Lte<Bytes, Budget> extends true
      ? Closed<S, G, O>
      : `this segment holds ${Bytes} bytes, over the budget of ${Budget}`
    : never
  : Closed<S, G, O>
type Closed<S extends Shape, G extends Segment, O extends Origin> = Tensor<
  S,
  DimsAtStart<S>,
  readonly [never, never, never, readonly [...G[3], unknown]],
  O,
  Nothing
>

type Tile<S extends Shape, F extends Dim, G extends Segment, O extends Origin, W, A> = O[1] extends 'block'
  ? 'tile: stands inside a block; put it before or after the block'
  : false extends Whole<`${A[keyof A] & number}`>
    ? 'tile: counts must be whole numbers above 0'
    : Wanted<A> extends infer D extends string
      ? [D] extends [F]
        ? Tensor<S, F, readonly [G[0] | D, G[1], G[2], G[3]], O, W>
        : `tile: cannot tile along ${ShowDims<Exclude<D, F>>}; ${Why<F, 'C' extends D ? never : G[2]>}`
      : never
/** The dimensions that are to be cut into more than one tile. */
type Wanted<A> = { [D in keyof A]: A[D] extends 1 ? never : D }[keyof A]
type Why<F extends Dim, Statistical extends string> = [Statistical] extends [never] ? `this segment allows ${ShowDims<F>}` : Statistical

/** What the branches of a block make of X, joined. Y: the end of the branch before, whose segment goes on; X at first. */
type Branches<
  X,
  Y,
  Join extends 'add' | 'concat',
  B extends readonly Layers[],
  Shapes extends readonly Shape[] = readonly []
> = B extends readonly [infer First extends Layers, ...infer Rest extends readonly Layers[]]
  ? Walk<Entered<X, Y>, First> extends infer Z
    ? Z extends string
      ? Z
      : Branches<X, Z, Join, Rest, readonly [...Shapes, ShapeOf<Z>]>
    : never
  : number extends B['length']
    ? Tensor
    : Joined<X, Y, Join, Shapes>

type Entered<X, Y> =
  X extends Tensor<infer S, infer _F, infer _G, infer O, infer _W>
    ? Y extends Tensor<infer _S, infer F, infer G, infer _O, infer W>
      ? Tensor<S, F, G, readonly [O[0], 'block', S], W>
      : never
    : never
type Joined<X, Y, Join extends 'add' | 'concat', Shapes extends readonly Shape[]> =
  X extends Tensor<infer _S, infer _F, infer _G, infer O, infer _W>
    ? Y extends Tensor<infer _S, infer F, infer G, infer _O, infer W>
      ? ApplyOp<Join, {}, F, G, O, W, OutputShape<Join, Shape, {}, Shape, Shapes>>
      : never
    : never

/** What a list of layers makes of X: the tensor, or the mistake with the place of its layer in the list. */
export type Through<X, L extends Layers> = Result<Passed<X, L>>
type Passed<X, L extends Layers> = Walk<X, L> extends infer Y ? (Y extends string ? Mistake<X, L> : Y) : never

/** What a list must be besides L: anything, unless one of its layers is a mistake; then a tuple with the sentence in its place. */
export type Fit<X, L extends Layers> = Walk<X, L> extends string ? Misfit<X, L> : unknown

/**
 * The tensor after the layers of L from place I on, or the sentence of the first that does not fit. Lists are indexed: of each rest of a
 * list the compiler would make a type, and go through all that is in it.
 */
type Walk<X, L extends Layers, I extends readonly unknown[] = readonly []> = I['length'] extends L['length']
  ? number extends L['length']
    ? Tensor
    : X
  : Made<X, L[I['length'] & number]['op'], L[I['length'] & number]['args']> extends infer Y
    ? Y extends string
      ? Y
      : Walk<Y, L, readonly [...I, unknown]>
    : never

/** Of a list whose walk failed: a tuple as long as L, `unknown` everywhere but where the mistake is. */
type Misfit<X, L extends Layers, Places extends readonly unknown[] = readonly []> = L extends readonly [
  infer First extends AnyLayer,
  ...infer Rest extends Layers
]
  ? Made<X, First['op'], First['args']> extends infer Y
    ? Y extends string
      ? readonly [...Places, Bad<Y>, ...{ [K in keyof Rest]: unknown }]
      : Misfit<Y, Rest, readonly [...Places, unknown]>
    : never
  : never

/** The sentence of such a list, under the layer's name; inside of a block under the names that are given there. */
type Mistake<X, L extends Layers, Places extends readonly unknown[] = readonly []> = L extends readonly [
  infer First extends AnyLayer,
  ...infer Rest extends Layers
]
  ? Made<X, First['op'], First['args']> extends infer Y
    ? Y extends string
      ? First['args'] extends { readonly name: string }
        ? Y
        : First['op'] extends Block
          ? Y
          : Under<`${Places['length'] & number}`, Y>
      : Mistake<Y, Rest, Counted<First, Places>>
    : never
  : never
type Block = 'residual' | 'parallel'

/** The places after a layer: the layers of blocks are counted as if they stood in the list itself. */
type Counted<X extends AnyLayer, Places extends readonly unknown[]> = X['op'] extends Mark
  ? Places
  : X['op'] extends Block
    ? X['args'] extends { readonly main: infer M; readonly shortcut: infer S }
      ? CountedIn<S, CountedIn<M, Places>>
      : X['args'] extends { readonly branches: infer B }
        ? CountedInEach<B, Places>
        : Places
    : readonly [...Places, unknown]
type CountedIn<L, Places extends readonly unknown[]> = L extends readonly [infer First extends AnyLayer, ...infer Rest]
  ? CountedIn<Rest, Counted<First, Places>>
  : Places
type CountedInEach<B, Places extends readonly unknown[]> = B extends readonly [infer First, ...infer Rest]
  ? CountedInEach<Rest, CountedIn<First, Places>>
  : Places

/** "in features.4: conv2d: …" */
type Under<Name extends string, Y> = Y extends string ? (Y extends `in ${infer Path}` ? `in ${Name}.${Path}` : `in ${Name}: ${Y}`) : Y
