/**
 * Where in a list the mistake is: the sentence of a layer that does not fit under the name that
 * flatLayers gives it, as run time says it. Only where there is a mistake does the compiler come
 * here.
 */
import type { EnterBranch, ApplyResult } from './walk'
import type { AnyLayer, Arguments, Layers, Directive, Op } from '../arguments'
import type { Tensor } from './tensor'

type Units = readonly unknown[]
/**
 * The layers of one list, and of the blocks in it: what stands before their names; how many places,
 * adds, concats and muls have been.
 */
type Namespace = readonly [prefix: string, places: Units, adds: Units, concats: Units, muls: Units]
type NewNamespace<Prefix extends string> = readonly [Prefix, readonly [], readonly [], readonly [], readonly []]

/**
 * A mistake of a whole segment, which is told where it ends: of the tiles that a directive before
 * asks for.
 */
type TileCountError = `tile: ${number} tiles along ${string}`
/** Last: name of the last op. */
type NameTileCountError<Y, Last extends string> = Y extends `${string} more than the ${infer Most extends number} ${string}`
  ? `${Y} of ${Last}; take at most ${Most}, or a larger input`
  : never

/** The sentence Y about layer N, named as in a list of its own. */
export type LocateError<X, N, A, Y extends string> = N extends Op
  ? Y
  : N extends Directive
    ? Y extends TileCountError
      ? NameTileCountError<Y, "the segment's last layer">
      : Y
    : Sentence<
        A extends { readonly name: infer Name extends string }
          ? SearchNamed<X, { readonly op: N; readonly args: A }, Name, Name>
          : A extends { readonly layers: infer L extends Layers }
            ? SearchList<X, L, NewNamespace<''>, ''>
            : SearchBlock<X, N, A, NewNamespace<''>, ''>
      >
type Sentence<Result> = Result extends { readonly sentence: infer Text extends string } ? Text : never

/**
 * The sentence Y about a layer of L, or about the tiles of a segment in it; and the place in L
 * where it belongs.
 */
export type LocateErrorInList<X, L extends Layers, Y extends string> =
  SearchList<X, L, NewNamespace<''>, ''> extends infer R
    ? R extends { readonly sentence: infer Text extends string; readonly at: infer At extends number }
      ? ListError<Y extends TileCountError ? LastTile<L, At> : At, Text>
      : R extends { readonly last: infer Last extends string }
        ? ListError<LastTile<L, L['length']>, NameTileCountError<Y, Last>>
        : never
    : never
type ListError<At extends number, Text extends string> = readonly [at: At, sentence: Text]

/** The last of the first End layers of L that may ask for tiles. */
type LastTile<L extends Layers, End extends number, Last extends number = End, I extends Units = readonly []> = I['length'] extends End
  ? Last
  : LastTile<L, End, L[I['length'] & number]['op'] extends 'tile' | 'seq' ? I['length'] & number : Last, readonly [...I, unknown]>

/**
 * The tensor after the layers of L, the names after them and their last op's; or the mistake with
 * its place in L.
 */
type SearchList<
  X,
  L extends Layers,
  P extends Namespace,
  Last extends string,
  I extends Units = readonly []
> = I['length'] extends L['length']
  ? { readonly tensor: X; readonly space: P; readonly last: Last }
  : [keyof Arguments] extends [L[I['length'] & number]['op']]
    ? SearchList<Tensor, L, readonly [P[0], readonly [...P[1], unknown], P[2], P[3], P[4]], Last, readonly [...I, unknown]>
    : SearchLayer<X, L[I['length'] & number], P, Last> extends infer R
      ? R extends { readonly tensor: infer Y; readonly space: infer Q extends Namespace; readonly last: infer Name extends string }
        ? SearchList<Y, L, Q, Name, readonly [...I, unknown]>
        : { readonly sentence: Sentence<R>; readonly at: I['length'] }
      : never

/** The tensor after one layer of a list, or its mistake. */
type SearchLayer<X, L extends AnyLayer, P extends Namespace, Last extends string> = L extends unknown
  ? L['op'] extends 'residual' | 'gated' | 'parallel'
    ? SearchBlock<X, L['op'], L['args'], P, Last>
    : SearchNamed<X, L, `${P[0]}${GivenName<L['args'], `${P[1]['length']}`>}`, Last> extends infer R
      ? R extends { readonly tensor: infer Y; readonly last: infer Name }
        ? {
            readonly tensor: Y
            readonly space: L['op'] extends Directive ? P : readonly [P[0], readonly [...P[1], unknown], P[2], P[3], P[4]]
            readonly last: Name
          }
        : R
      : never
  : never
type GivenName<A, Place extends string> = A extends { readonly name: infer Name extends string } ? Name : Place

/** The tensor after a layer of this name, or its mistake. */
type SearchNamed<X, L, Name extends string, Last extends string> = L extends { readonly op: infer N; readonly args: infer A }
  ? N extends Op | Directive
    ? ApplyResult<X, N, A> extends infer Y
      ? Y extends string
        ? { readonly sentence: Y extends TileCountError ? NameTileCountError<Y, Last> : PrefixName<Name, N, Y> }
        : { readonly tensor: Y; readonly last: N extends Op ? Name : Last }
      : never
    : A extends { readonly layer: infer Inner extends AnyLayer }
      ? [keyof Arguments] extends [Inner['op']]
        ? { readonly tensor: Tensor; readonly last: Last }
        : SearchNamed<X, Inner, Name, Last>
      : A extends { readonly layers: infer Inner extends Layers }
        ? SearchList<X, Inner, NewNamespace<`${Name}.`>, Last>
        : SearchBlock<X, N, A, NewNamespace<`${Name}.`>, Last>
  : never

/** The tensor after a block, or its mistake; Y is the end of the branch before, X at first. */
type SearchBlock<X, N, A, P extends Namespace, Last extends string, Y = X, B = BranchesOf<A>> = B extends readonly [
  infer First extends Layers,
  ...infer Rest
]
  ? SearchList<EnterBranch<X, Y>, First, P, Last> extends infer R
    ? R extends { readonly tensor: infer Z; readonly space: infer Q extends Namespace; readonly last: infer Name extends string }
      ? SearchBlock<X, N, A, Q, Name, Z, Rest>
      : R
    : never
  : ApplyResult<X, N, A> extends infer Z
    ? N extends 'residual'
      ? AfterJoin<Z, 'add', `${P[0]}add${NumberSuffix<P[2]>}`, readonly [P[0], P[1], readonly [...P[2], unknown], P[3], P[4]]>
      : N extends 'gated'
        ? AfterJoin<Z, 'mul', `${P[0]}mul${NumberSuffix<P[4]>}`, readonly [P[0], P[1], P[2], P[3], readonly [...P[4], unknown]]>
        : AfterJoin<Z, 'concat', `${P[0]}concat${NumberSuffix<P[3]>}`, readonly [P[0], P[1], P[2], readonly [...P[3], unknown], P[4]]>
    : never
type BranchesOf<A> = A extends { readonly main: infer M; readonly shortcut: infer S }
  ? readonly [M, S]
  : A extends { readonly main: infer M; readonly gate: infer G }
    ? readonly [M, G]
    : A extends { readonly branches: infer B }
      ? B
      : never
type AfterJoin<Z, N extends Op, Name extends string, P extends Namespace> = Z extends string
  ? { readonly sentence: PrefixName<Name, N, Z> }
  : { readonly tensor: Z; readonly space: P; readonly last: Name }
type NumberSuffix<Earlier extends Units> = Earlier extends readonly [] ? '' : Earlier['length'] & number

/**
 * "features.0: conv2d: ..."; where the name says what it is, as a block's join's does, "add1: ...".
 */
type PrefixName<Name extends string, N extends string, Y extends string> =
  LastPart<Name> extends N ? (Y extends `${N}: ${infer Rest}` ? `${Name}: ${Rest}` : `${Name}: ${Y}`) : `${Name}: ${Y}`
type LastPart<Name extends string> = Name extends `${string}.${infer Rest}` ? LastPart<Rest> : WithoutNumber<Name>
type WithoutNumber<Name extends string> = Name extends `${infer Start}${'0' | '1' | '2' | '3' | '4' | '5' | '6' | '7' | '8' | '9'}`
  ? Name extends `${Start}${infer _End}`
    ? WithoutNumber<Start>
    : Name
  : Name
