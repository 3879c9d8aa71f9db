import type { Arguments, Directive, Op } from '../arguments'
import type { LayerText } from './layer-text'
import type { Loss } from '../ops'

/**
 * One op of the flattened model; a tuple, which costs the compiler far less than an object in long
 * lists. `back` only where the op starts a branch, and so is not the only one that reads its input:
 * how many ops stand between that input and it.
 */
export type Entry = readonly [name: string, op: Op, text: string, back?: number]
/** The type of a flattened list of layers, in the order in which they run. */
export type Entries = readonly Entry[]

/** The type of the ops that flatLayers returns, directives left out; directives take no place. */
export type Flat<L> = FlatList<L, '', undefined>

type Units = readonly unknown[]
/**
 * Ops between a branch's input and what comes next, as long a tuple; undefined where nothing else
 * reads the input.
 */
type Back = Units | undefined

/** A list without directives and containers is mapped, which costs less. */
type FlatList<L, Prefix extends string, B extends Back> = undefined extends B
  ? L extends readonly { readonly op: Op }[]
    ? { readonly [K in keyof L]: K extends string ? Leaf<L[K], `${Prefix}${K}`> : never }
    : FlatFrom<L, Prefix, B>[0]
  : FlatFrom<L, Prefix, B>[0]
type Leaf<X, Name extends string> = X extends { readonly op: infer N extends Op; readonly args: infer A }
  ? readonly [Name, N, LayerText<N, A>]
  : never

/**
 * The ops of a list, and how many places, adds and concats its namespace then has, from which names
 * come.
 */
export type FlatFrom<
  L,
  Prefix extends string,
  B extends Back,
  Places extends Units = readonly [],
  Adds extends Units = readonly [],
  Concats extends Units = readonly [],
  Muls extends Units = readonly [],
  Out extends Entries = readonly []
> = L extends readonly [infer First, ...infer Rest]
  ? First extends { readonly op: infer N; readonly args: infer A }
    ? N extends Directive
      ? FlatFrom<Rest, Prefix, B, Places, Adds, Concats, Muls, Out>
      : N extends 'residual' | 'gated' | 'parallel'
        ? FlatBlock<BranchesOf<A>, Prefix, B, Places, Adds, Concats, Muls> extends readonly [
            infer Inner extends Entries,
            infer P extends Units,
            infer Q extends Units,
            infer R extends Units,
            infer S extends Units
          ]
          ? FlatFrom<Rest, Prefix, undefined, P, Q, R, S, readonly [...Out, ...Inner]>
          : Unknown
        : FlatLayer<N, A, `${Prefix}${NameOf<A, `${Places['length']}`>}`, B> extends infer Inner extends Entries
          ? FlatFrom<
              Rest,
              Prefix,
              B extends undefined ? B : Inner extends readonly [] ? B : undefined,
              readonly [...Places, unknown],
              Adds,
              Concats,
              Muls,
              readonly [...Out, ...Inner]
            >
          : Unknown
    : Unknown
  : L extends readonly []
    ? readonly [Out, Places, Adds, Concats, Muls]
    : Unknown
type Unknown = readonly [Entries, readonly [], readonly [], readonly [], readonly []]

type NameOf<A, Place extends string> = A extends { readonly name: infer Name extends string } ? Name : Place

/** The ops of one layer of this name. */
type FlatLayer<N, A, Name extends string, B extends Back> = keyof Arguments extends N
  ? Entries
  : N extends Op
    ? readonly [B extends Units ? readonly [Name, N, LayerText<N, A>, B['length']] : readonly [Name, N, LayerText<N, A>]]
    : N extends 'named'
      ? A extends { readonly layer: { readonly op: infer Inner; readonly args: infer InnerA } }
        ? FlatLayer<Inner, InnerA, Name, B>
        : readonly []
      : N extends 'seq'
        ? A extends { readonly layers: infer Inner }
          ? FlatList<Inner, `${Name}.`, B>
          : readonly []
        : FlatBlock<BranchesOf<A>, `${Name}.`, B>[0]

type BranchesOf<A> = A extends { readonly main: infer M; readonly shortcut: infer S }
  ? readonly ['add', readonly [M, S]]
  : A extends { readonly main: infer M; readonly gate: infer G }
    ? readonly ['mul', readonly [M, G]]
    : A extends { readonly branches: infer Branches }
      ? readonly ['concat', Branches]
      : never

type FlatBlock<
  Block extends readonly ['add' | 'concat' | 'mul', unknown],
  Prefix extends string,
  B extends Back,
  Places extends Units = readonly [],
  Adds extends Units = readonly [],
  Concats extends Units = readonly [],
  Muls extends Units = readonly [],
  Out extends Entries = readonly []
> = Block[1] extends readonly [infer First, ...infer Rest]
  ? FlatFrom<First, Prefix, readonly [...(B extends Units ? B : readonly []), ...Out], Places, Adds, Concats, Muls> extends readonly [
      infer Inner extends Entries,
      infer P extends Units,
      infer Q extends Units,
      infer R extends Units,
      infer S extends Units
    ]
    ? FlatBlock<readonly [Block[0], Rest], Prefix, B, P, Q, R, S, readonly [...Out, ...Inner]>
    : never
  : Block[1] extends readonly []
    ? Block[0] extends 'add'
      ? readonly [
          readonly [...Out, readonly [`${Prefix}add${NumberSuffix<Adds>}`, 'add', 'add']],
          Places,
          readonly [...Adds, unknown],
          Concats,
          Muls
        ]
      : Block[0] extends 'mul'
        ? readonly [
            readonly [...Out, readonly [`${Prefix}mul${NumberSuffix<Muls>}`, 'mul', 'mul']],
            Places,
            Adds,
            Concats,
            readonly [...Muls, unknown]
          ]
        : readonly [
            readonly [...Out, readonly [`${Prefix}concat${NumberSuffix<Concats>}`, 'concat', 'concat']],
            Places,
            Adds,
            readonly [...Concats, unknown],
            Muls
          ]
    : Unknown
type NumberSuffix<Earlier extends Units> = Earlier extends readonly [] ? '' : Earlier['length'] & number

/**
 * E, and the loss that training appends where it has none: of images, which nothing has flattened,
 * one by pixels.
 */
export type WithLoss<E> = E extends readonly [...Entry[], infer Last extends Entry]
  ? Last[1] extends Loss
    ? E
    : readonly [...E, AppendedLoss<Extract<E[number][1], 'globalAvgPool' | 'globalMaxPool' | 'flatten'>>]
  : E
type AppendedLoss<Flattened> = [Flattened] extends [never]
  ? readonly ['loss', 'pixelCrossEntropy', 'pixelCrossEntropy']
  : readonly ['loss', 'softmaxCrossEntropy', 'softmaxCrossEntropy']

/** E where it is one list of known length, else nothing. */
export type KnownEntries<E> =
  IsUnion<E> extends true ? undefined : E extends Entries ? (number extends E['length'] ? undefined : E) : undefined
/** True where a type is a union of several members, else false. */
export type IsUnion<T, One = T> = T extends unknown ? ([One] extends [T] ? false : true) : never
