import type { Lte, Whole } from './arithmetic'
import type { AnyLayer, Arguments, Layers, Mark, Op } from './arguments'
import type { OutputShape } from './rules'
import type { Dim, DimsAtStart, InPlace, InsideDims, LastDims, Normalisation, ShowDims, StatisticsOf } from './segment'
import type { Shape } from './shape'
import type { AnyTensor, Bad, BytesWritten, Origin, Segment, ShapeOf, Tensor } from './tensor'

/** The tensor that a layer makes of X, or the mistake. */
export type Apply<X, N extends keyof Arguments, A> =
  X extends Tensor<infer S, infer F, infer G, infer O>
    ? N extends Op
      ? ApplyOp<N, A, F, G, O, OutputShape<N, S, A, O[2]>>
      : N extends 'checkpoint'
        ? Checkpoint<S, G, O, A>
        : N extends 'tile'
          ? Tile<S, F, G, O, A>
          : Contained<X, A>
    : never

/** Containers put their name before a sentence from inside; blocks have none. */
type Contained<X, A> = A extends { readonly name: infer Name extends string; readonly layer: infer L extends AnyLayer }
  ? Under<Name, Apply<X, L['op'], L['args']>>
  : A extends { readonly layers: infer L extends Layers }
    ? A extends { readonly name: infer Name extends string }
      ? Under<Name, Through<X, L>>
      : Through<X, L>
    : A extends { readonly main: infer M extends Layers; readonly shortcut: infer S extends Layers }
      ? Branches<X, X, 'add', readonly [M, S]>
      : A extends { readonly branches: infer B extends readonly Layers[] }
        ? Branches<X, X, 'concat', B>
        : never

/** Y: the shape that the op makes, or the sentence why there is none. */
type ApplyOp<N extends Op, A, F extends Dim, G extends Segment, O extends Origin, Y> = Y extends Shape
  ? [G[1]] extends [InsideDims<G[2]>]
    ? [G[1]] extends [LastDims<N>]
      ? N extends Normalisation
        ? O[0]['length'] extends 0 | G[4]['length']
          ? Normalised<N, F, G, O, Y, StatisticsOf<N, A>>
          : After<N, F, G, O, Y, G[3]>
        : After<N, F, G, O, Y, G[3]>
      : Bad<`${N}: cannot tile along ${ShowDims<Exclude<G[1], LastDims<N>>>}; ${N} allows ${ShowDims<LastDims<N>>}`>
    : Bad<`${N}: cannot tile along ${ShowDims<Exclude<G[1], InsideDims<G[2]>>>}; ${G[2]} sums over the pixels, so it must be the segment's last op (put a checkpoint after it)`>
  : Y extends string
    ? Bad<Y>
    : never

type After<N extends Op, F extends Dim, G extends Segment, O extends Origin, Y extends Shape, Statistical extends string> = Tensor<
  Y,
  Extract<F, InsideDims<G[2]> & LastDims<N>>,
  readonly [InPlace<N> extends true ? G[0] : readonly [Y, G[0]], G[1], N, Statistical, G[4]],
  readonly [G[4], O[1], O[2]]
>

/** An op that needs statistics along D of what this segment makes, or of the net's input. */
type Normalised<N extends Op, F extends Dim, G extends Segment, O extends Origin, Y extends Shape, D extends Dim> = [G[1] & D] extends [
  never
]
  ? After<N, Exclude<F, D>, G, O, Y, [F & D] extends [never] ? G[3] : NeedsStatistics<N, O[0]['length']>>
  : Bad<`${N}: cannot tile along ${ShowDims<G[1] & D>}; ${NeedsStatistics<N, O[0]['length']>}`>
type NeedsStatistics<N extends Op, Made extends number> =
  `${N} needs the statistics of the whole ${Made extends 0 ? 'input, so put a checkpoint after it' : 'tensor before it, so put a checkpoint before it'}`

type Checkpoint<S extends Shape, G extends Segment, O extends Origin, A> = A extends { readonly budget: infer Budget extends number }
  ? BytesWritten<G[0]> extends infer Bytes extends number
    ? Lte<Bytes, Budget> extends true
      ? Closed<S, G, O>
      : Bad<`this segment holds ${Bytes} bytes, over the budget of ${Budget}`>
    : never
  : Closed<S, G, O>
type Closed<S extends Shape, G extends Segment, O extends Origin> = Tensor<
  S,
  DimsAtStart<S>,
  readonly [readonly [], never, never, never, readonly [...G[4], unknown]],
  O
>

type Tile<S extends Shape, F extends Dim, G extends Segment, O extends Origin, A> = O[1] extends 'block'
  ? Bad<'tile: stands inside a block; put it before or after the block'>
  : false extends Whole<`${A[keyof A] & number}`>
    ? Bad<'tile: counts must be whole numbers above 0'>
    : Wanted<A> extends infer D extends string
      ? [D] extends [F]
        ? Tensor<S, F, readonly [G[0], G[1] | D, G[2], G[3], G[4]], O>
        : Bad<`tile: cannot tile along ${ShowDims<Exclude<D, F>>}; ${Why<F, 'C' extends D ? never : G[3]>}`>
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
  Made extends readonly Shape[] = readonly []
> = B extends readonly [infer First extends Layers, ...infer Rest extends readonly Layers[]]
  ? Walk<Entered<X, Y>, First> extends infer Z
    ? Z extends AnyTensor
      ? Branches<X, Z, Join, Rest, readonly [...Made, ShapeOf<Z>]>
      : { [K in keyof Z]: Z[K] extends Bad<string> ? Z[K] : never }[keyof Z & number]
    : never
  : number extends B['length']
    ? Tensor
    : Joined<X, Y, Join, Made>

type Entered<X, Y> =
  X extends Tensor<infer S, Dim, Segment, infer O>
    ? Y extends Tensor<Shape, infer F, infer G, Origin>
      ? Tensor<S, F, G, readonly [O[0], 'block', S]>
      : never
    : never
type Joined<X, Y, Join extends 'add' | 'concat', Made extends readonly Shape[]> =
  X extends Tensor<Shape, Dim, Segment, infer O>
    ? Y extends Tensor<Shape, infer F, infer G, Origin>
      ? ApplyOp<Join, {}, F, G, O, OutputShape<Join, Shape, {}, Shape, Made>>
      : never
    : never

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

/** The one mistake of a Walk that failed, under the layer's name; inside of a block under the names that are given there. */
type Mistake<L extends Layers, Walked extends readonly unknown[], Places extends readonly unknown[] = readonly []> = L extends readonly [
  infer First extends AnyLayer,
  ...infer Rest extends Layers
]
  ? Walked extends readonly [infer Y, ...infer Others]
    ? Y extends Bad<string>
      ? First['args'] extends { readonly name: string }
        ? Y
        : First['op'] extends Block
          ? Y
          : Under<`${Places['length'] & number}`, Y>
      : Mistake<Rest, Others, Counted<First, Places>>
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
type Under<Name extends string, Y> =
  Y extends Bad<infer Sentence> ? Bad<Sentence extends `in ${infer Path}` ? `in ${Name}.${Path}` : `in ${Name}: ${Sentence}`> : Y
