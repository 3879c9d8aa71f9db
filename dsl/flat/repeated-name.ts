/** Names that two layers of a model have: at run time and, with the same sentence, in types. */
import type { AnyLayer, Arguments, Layers, Directive, Op } from '../arguments'
import type { FlatLayer } from './flat-layers'
import type { Entries, Flat, FlatFrom } from './entries'
import { isDirective } from '../shapes/segment'

/**
 * Returns one sentence on why the names of a flattened list are not different, or undefined where
 * all is right.
 */
export const validateNames = (layers: readonly FlatLayer[]): string | undefined => {
  const names = new Set<string>()
  for (const { op, name } of layers) {
    if (isDirective(op)) continue
    if (names.has(name)) return `two layers are named ${name}; names must differ`
    names.add(name)
  }
  return undefined
}

type Units = readonly unknown[]

/**
 * Tells whether two layers of a list have the same name. Mostly that is told by the names that are
 * given in each list by itself, one level of lists after the other, equal lists once; only where
 * one comes twice, is like a place or a join, or has a dot, all names of the list are looked at.
 */
export type Repeats<L> = RepeatsInLists<NestedList<L>>

/** A list inside another, which has names of its own. */
interface NestedList<L> {
  readonly list: L
}
type RepeatsInLists<Lists> = [Lists] extends [never]
  ? false
  : RepeatsOrNested<Lists> extends infer F
    ? true extends F
      ? true
      : RepeatsInLists<F>
    : never
/** True, or the lists that are held in those lists. */
type RepeatsOrNested<Lists> =
  Lists extends NestedList<infer L>
    ? [unknown] extends [L]
      ? never
      : L extends readonly { readonly op: Op | Directive }[]
        ? never
        : L extends Layers
          ? [keyof Arguments] extends [L[number]['op']]
            ? never
            : RepeatsInList<L, Scan<L, never>>
          : never
    : never
type RepeatsInList<L, Seen> = Duplicate extends Seen
  ? CompareAllNames<L, Seen>
  : [Place | LikePlace] extends [Seen]
    ? CompareAllNames<L, Seen>
    : Extract<Seen, NestedList<unknown>>
type CompareAllNames<L, Seen> = FirstRepeated<Flat<L>> extends string ? true : Extract<Seen, NestedList<unknown>>

/**
 * Signs beside names and lists: Duplicate, a name that is given again, or may be, as one with a dot
 * is like a layer's in a list inside, and `add` like a block's join; Place, a layer that goes by
 * its place; LikePlace, a name that is like a place.
 */
type Duplicate = 0
type Place = 1
type LikePlace = 2

/**
 * Collects the names and signs in a list and in the blocks in it; in chunks of steps, as Walk does.
 */
type Scan<L extends Layers, Seen> = Steps<L, Seen, L['length'] | 900 | 1800 | 2700 | 3600>
type Steps<L extends Layers, Seen, End, I extends Units = readonly []> = I['length'] extends End
  ? I['length'] extends L['length']
    ? Seen
    : Steps<L, Seen, Exclude<End, I['length']>, I> extends infer S
      ? S
      : never
  : Steps<L, Seen | ScanLayer<L[I['length'] & number]['op'], L[I['length'] & number]['args'], Seen>, End, readonly [...I, unknown]>
type ScanLayer<N, A, Seen> = N extends Op
  ? Place
  : A extends { readonly name: infer Name }
    ? NameMark<Name, Seen> | NestedIn<A>
    : N extends Directive
      ? never
      : N extends 'seq'
        ? Place | NestedIn<A>
        : ScanBlock<A, Seen>
type NameMark<Name, Seen> = [string] extends [Name]
  ? never
  : Name extends Seen
    ? Duplicate
    : Name extends `${number}` | `${'add' | 'concat' | 'mul'}${number | ''}` | `${string}.${string}`
      ? Name extends `${number}`
        ? LikePlace | Name
        : Duplicate
      : Name
/** The list inside a named layer or a seq. */
type NestedIn<A> = A extends { readonly layer: { readonly op: Op | Directive } }
  ? never
  : A extends { readonly layers: infer L }
    ? NestedList<L>
    : A extends { readonly layer: infer X extends AnyLayer }
      ? X['op'] extends 'residual' | 'gated' | 'parallel'
        ? NestedList<readonly [X]>
        : [keyof Arguments] extends [X['op']]
          ? never
          : NestedIn<X['args']>
      : never
type ScanBlock<A, Seen> = A extends { readonly main: infer M; readonly shortcut: infer S }
  ? ScanBranches<readonly [M, S], Seen>
  : A extends { readonly main: infer M; readonly gate: infer G }
    ? ScanBranches<readonly [M, G], Seen>
    : A extends { readonly branches: infer B }
      ? ScanBranches<B, Seen>
      : never
type ScanBranches<B, Seen> = B extends readonly [infer First, ...infer Rest]
  ? [unknown] extends [First]
    ? ScanBranches<Rest, Seen>
    : First extends Layers
      ? ScanBranches<Rest, [keyof Arguments] extends [First[number]['op']] ? Seen : Scan<First, Seen>>
      : Seen
  : Seen

/** The first name that comes again. */
type FirstRepeated<E, Seen = never> = E extends readonly [infer X, ...infer Rest]
  ? X extends readonly [infer Name extends string, ...unknown[]]
    ? string extends Name
      ? undefined
      : Name extends Seen
        ? Name
        : FirstRepeated<Rest, Seen | Name>
    : undefined
  : undefined

/** Places, adds, concats and muls before a layer, from which its names come. */
type Counted = readonly [Units, Units, Units, Units]

/**
 * The place of the first repeated name in a list, and the sentence about it. Each layer is looked
 * at once: of all layers before each the compiler would lose itself in a list of a hundred.
 */
export type RepeatedName<
  L extends Layers,
  I extends Units = readonly [],
  Seen = never,
  Before extends Counted = readonly [readonly [], readonly [], readonly [], readonly []]
> = L extends readonly [infer First extends AnyLayer, ...infer Rest extends Layers]
  ? FlatFrom<readonly [First], '', undefined, Before[0], Before[1], Before[2], Before[3]> extends readonly [
      infer Own extends Entries,
      ...infer After extends Counted
    ]
    ? FirstRepeated<Own, Seen> extends infer Name extends string
      ? readonly [I['length'], `two layers are named ${Name}; names must differ`]
      : number extends Own['length']
        ? never
        : RepeatedName<Rest, readonly [...I, unknown], Seen | Own[number][0], After>
    : never
  : never
