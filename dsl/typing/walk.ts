import type { Lte, AreWholePositive } from '../shapes/arithmetic'
import type { AnyLayer, Arguments, Layers, DirectiveArguments, Op } from '../arguments'
import type { OutputShape } from '../ops'
import type {
  Dim,
  DimsAtStart,
  InPlace,
  InsideDims,
  LastDims,
  MoreTiles,
  NormalisationOp,
  SegmentOp,
  SegmentOpOf,
  ShowDims,
  StatisticsDims
} from '../shapes/segment'
import type { SizeValue } from '../ops/options'
import type { Shape, WidenedSizes } from '../shapes/shape'
import type { AnyTensor, BytesWritten, TileCounts, NoWrites, TensorOrigin, SegmentState, ShapeOf, Tensor, Writes } from './tensor'

/**
 * The tensor, or the sentence that says why there is none: a string, which the compiler tells from
 * a tensor without looking into it.
 */
export type ApplyResult<X, N, A> =
  X extends Tensor<infer S, infer F, infer G, infer O, infer W>
    ? N extends Op
      ? N extends 'adaptiveAvgPool2d'
        ? ApplyOp<N, A, S, F, G, O, W, OutputShape<N, S, A, O[1][1]>, SegmentOpOf<N, A>>
        : ApplyOp<N, A, S, F, G, O, W, OutputShape<N, S, A, O[1][1]>, N>
      : N extends 'checkpoint'
        ? Checkpoint<S, G, O, W, A>
        : N extends 'tile'
          ? Tile<S, F, G, O, W, A>
          : ApplyContainer<X, A>
    : AnyTensor

type ApplyContainer<X, A> = A extends { readonly layer: infer L extends AnyLayer }
  ? [keyof Arguments] extends [L['op']]
    ? Tensor
    : ApplyResult<X, L['op'], L['args']>
  : A extends { readonly layers: infer L extends Layers }
    ? Walk<X, L>
    : A extends { readonly main: infer M extends Layers; readonly shortcut: infer S extends Layers }
      ? Branches<X, X, 'add', readonly [M, S]>
      : A extends { readonly main: infer M extends Layers; readonly gate: infer G extends Layers }
        ? Branches<X, X, 'mul', readonly [M, G]>
        : A extends { readonly branches: infer B extends readonly Layers[] }
          ? Branches<X, X, 'concat', B>
          : never

/**
 * S: the shape that the op takes; Y: the one that it makes, or the sentence why there is none; P:
 * the op as segments know it.
 */
type ApplyOp<
  N extends Op,
  A,
  S extends Shape,
  F extends Dim,
  G extends SegmentState,
  O extends TensorOrigin,
  W,
  Y,
  P extends SegmentOp
> = Y extends string
  ? Y
  : Y extends Shape
    ? [G[3][0]] extends [InsideDims<G[0]>]
      ? [G[3][0]] extends [LastDims<N>]
        ? N extends NormalisationOp
          ? [O[0]['length']] extends [0 | G[3][2]['length']]
            ? ApplyNormalisation<N, A, S, F, G, O, W, Y, unknown extends G[3][0] ? never : StatisticsDims<N, A>>
            : Tensor<
                Y,
                Extract<F, InsideDims<G[0]> & LastDims<N>>,
                readonly [P, S, G[2], G[3]],
                readonly [G[3][2], O[1]],
                InPlace<N, A> extends true ? W : Writes<Y, W>
              >
          : Tensor<
              Y,
              Extract<F, InsideDims<G[0]> & LastDims<N>>,
              readonly [P, S, G[2], G[3]],
              readonly [G[3][2], O[1]],
              InPlace<N, A> extends true ? W : Writes<Y, W>
            >
        : `${N}: cannot tile along ${ShowDims<Exclude<G[3][0], LastDims<N>>>}; ${N} allows ${ShowDims<LastDims<N>>}`
      : `${N}: cannot tile along ${ShowDims<Exclude<G[3][0], InsideDims<G[0]>>>}; ${G[0]} sums over the pixels, so it must be the segment's last op (put a checkpoint after it)`
    : never

/** An op that needs statistics along D of what this segment makes, or of the net's input. */
type ApplyNormalisation<
  N extends Op,
  A,
  S extends Shape,
  F extends Dim,
  G extends SegmentState,
  O extends TensorOrigin,
  W,
  Y extends Shape,
  D extends Dim
> = [G[3][0]] extends [Exclude<Dim, D>]
  ? Tensor<
      Y,
      Extract<Exclude<F, D>, InsideDims<G[0]> & LastDims<N>>,
      readonly [N, S, [F & D] extends [never] ? G[2] : NeedsStatistics<N, O[0]['length']>, G[3]],
      readonly [G[3][2], O[1]],
      InPlace<N, A> extends true ? W : Writes<Y, W>
    >
  : `${N}: cannot tile along ${ShowDims<G[3][0] & D>}; ${NeedsStatistics<N, O[0]['length']>}`
/** Segment: how many segments have begun where the tensor was made, none for the net's input. */
type NeedsStatistics<
  N extends Op,
  Segment extends number
> = `${N} needs the statistics of the whole ${Segment extends 0 ? 'input, so put a checkpoint after it' : 'tensor before it, so put a checkpoint before it'}`

type Checkpoint<S extends Shape, G extends SegmentState, O extends TensorOrigin, W, A> =
  TooManyTiles<S, G> extends infer Sentence extends string
    ? Sentence
    : A extends { readonly budget: infer Budget }
      ? [BytesWritten<W>, SizeValue<Budget>] extends [infer Bytes extends number, infer Most extends number]
        ? Lte<Bytes, Most> extends true
          ? StartSegment<S, G, O>
          : `this segment holds ${Bytes} bytes, over the budget of ${Most}`
        : never
      : StartSegment<S, G, O>
type StartSegment<S extends Shape, G extends SegmentState, O extends TensorOrigin> = Tensor<
  S,
  DimsAtStart<S>,
  readonly [never, S, never, readonly [never, {}, readonly [...G[3][2], unknown]]],
  O,
  NoWrites
>

/**
 * Gives one sentence on why a segment that ends with shape S has fewer rows, columns or images than
 * tiles, if that is so.
 */
type TooManyTiles<S extends Shape, G extends SegmentState> = [G[3][0]] extends [never]
  ? undefined
  : MoreTiles<G[3][1], G[0], G[1], S> extends infer Sentence extends string
    ? `tile: ${Sentence}`
    : undefined

type Tile<S extends Shape, F extends Dim, G extends SegmentState, O extends TensorOrigin, W, A> = [O[1][0]] extends ['net']
  ? false extends AreWholePositive<`${SizeValue<A[keyof A]>}`>
    ? 'tile: counts must be whole numbers above 0'
    : TiledDims<A> extends infer D extends string
      ? [D] extends [F]
        ? Tensor<S, F, readonly [G[0], G[1], G[2], readonly [G[3][0] | D, MergeCounts<G[3][1], A>, G[3][2]]], O, W>
        : `tile: cannot tile along ${ShowDims<Exclude<D, F>>}; ${RefusalReason<F, 'C' extends D ? never : G[2]>}`
      : never
  : 'tile: stands inside a block; put it before or after the block'
/** The dimensions that are to be cut into more than one tile. */
type TiledDims<A> = { [D in keyof A & TileDim]: [A[D]] extends [1] ? never : D }[keyof A & TileDim]
type TileDim = keyof DirectiveArguments['tile']
type MergeCounts<C extends TileCounts, A> = Omit<C, keyof A> & A
type RefusalReason<F extends Dim, Statistical extends string> = [Statistical] extends [never]
  ? `this segment allows ${ShowDims<F>}`
  : Statistical

/**
 * The tensor after the branches of a block, joined. Y is the end of the branch before, whose
 * segment goes on; X at first.
 */
type Branches<
  X,
  Y,
  Join extends 'add' | 'concat' | 'mul',
  B extends readonly Layers[],
  Shapes extends readonly Shape[] = readonly []
> = B extends readonly [infer First extends Layers, ...infer Rest extends readonly Layers[]]
  ? Walk<EnterBranch<X, Y>, First> extends infer Z
    ? Z extends string
      ? Z
      : Branches<X, Z, Join, Rest, readonly [...Shapes, ShapeOf<Z>]>
    : never
  : number extends B['length']
    ? Tensor
    : JoinBranches<X, Y, Join, Shapes>

/** X, as a branch of a block begins with it after the branch that made Y. */
export type EnterBranch<X, Y> =
  X extends Tensor<infer S, infer _F, infer _G, infer O, infer _W>
    ? Y extends Tensor<infer _S, infer F, infer G, infer _O, infer W>
      ? Tensor<S, F, G, readonly [O[0], readonly ['block', S, O[1][2]]], W>
      : never
    : never
type JoinBranches<X, Y, Join extends 'add' | 'concat' | 'mul', Shapes extends readonly Shape[]> =
  X extends Tensor<infer S, infer _F, infer _G, infer O, infer _W>
    ? Y extends Tensor<infer _S, infer F, infer G, infer _O, infer W>
      ? ApplyOp<Join, {}, S, F, G, O, W, OutputShape<Join, Shape, {}, Shape, Shapes>, Join>
      : never
    : never

/**
 * The tensor after the layers of L from place I on, or the sentence of the first that does not fit.
 * Lists are indexed: of each rest of a list the compiler would make a type, and go through all that
 * is in it. From a layer that is not known on nothing is, nor is it after a list that may be of
 * several lengths.
 */
export type Walk<X, L extends Layers> = [number] extends [L['length']]
  ? Tensor
  : Steps<X, L, L['length'] | ([keyof Arguments] extends [L[number]['op']] ? UnknownPlaces<L> : never) | 900 | 1800 | 2700 | 3600>
type UnknownPlaces<L extends Layers> = {
  readonly [K in keyof L]: [keyof Arguments] extends [L[K]['op']] ? (K extends `${infer Place extends number}` ? Place : never) : never
}[number]
/**
 * End: where it pauses, because a layer is not known, or because the compiler follows a chain of a
 * thousand at most.
 */
type Steps<X, L extends Layers, End, I extends readonly unknown[] = readonly []> = I['length'] extends End
  ? I['length'] extends L['length']
    ? [L['length']] extends [I['length']]
      ? X
      : Tensor
    : [keyof Arguments] extends [L[I['length'] & number]['op']]
      ? Tensor
      : Steps<X, L, Exclude<End, I['length']>, I> extends infer Y
        ? Y
        : never
  : ApplyLayer<X, L[I['length'] & number]> extends infer Y
    ? Y extends string
      ? Y
      : Steps<Y, L, End, readonly [...I, unknown]>
    : never

/** Of a layer that is one of several, what each of them makes. */
type ApplyLayer<X, Layer> = Layer extends { readonly op: infer N; readonly args: infer A } ? ApplyResult<X, N, A> : never

/**
 * Walks from the start of a list, where nothing may be known of X, nor, while the compiler infers
 * it, of L.
 */
export type WalkFromStart<X, L extends Layers> = [unknown] extends [X] ? Tensor : [L] extends [never] ? Tensor : Walk<WidenSizes<X>, L>
/** X, of which a size that is a type parameter's is any. */
export type WidenSizes<X> = X extends Tensor<infer S, infer F, infer G, infer O, infer W> ? Tensor<WidenedSizes<S>, F, G, O, W> : X

/** The tensor after the layers of a whole model, whose last segment ends there. */
export type WalkToEnd<X, L extends Layers> = CheckModelEnd<WalkFromStart<X, L>>
/** Y as the end of a model. */
export type CheckModelEnd<Y> =
  Y extends Tensor<infer S, infer _F, infer G, infer _O, infer _W>
    ? TooManyTiles<S, G> extends infer Sentence extends string
      ? Sentence
      : Y
    : Y
