import type { Entries } from '../flat/entries'
import type { MaxPool, Rectifier } from '../ops'
import type { Unchecked } from './sentences'
import type { Invalid } from '../typing/tensor'

/**
 * Gives one sentence on why these are not the positions of all layers in an order in which they may
 * run, if that is so.
 */
export type CheckedOrder<E extends Entries, O extends readonly number[]> = number extends O['length']
  ? unknown
  : O['length'] extends E['length']
    ? O extends SourceOrder<E>
      ? unknown
      : Misplaced<E, O, SourceOrder<E>, Following<E>> extends infer Places
        ? [Places] extends [never]
          ? unknown
          : OrderFrom<E, O>
        : never
    : Invalid<`order: the model has ${E['length']} layers, its loss included, the order ${O['length']}`>

/** [0, 1, 2, ...] and [1, 2, 3, ...], as long as E. */
export type SourceOrder<E> = { readonly [K in keyof E]: K extends `${infer Place extends number}` ? Place : never }
/** [1, 2, 3, ...], as long as E. */
export type Following<E extends readonly unknown[]> = readonly [...E, unknown] extends infer Longer
  ? SourceOrder<Longer> extends readonly [0, ...infer Later]
    ? Later
    : never
  : never

/**
 * Positions that neither stand as written nor in a pool's commuting with the rectifier before it.
 */
type Misplaced<E extends Entries, O extends readonly number[], W extends readonly unknown[], F extends readonly unknown[]> = {
  [K in keyof W]: O[K & keyof O] extends infer A extends number
    ? number extends A
      ? never
      : A extends W[K]
        ? never
        : [A, O[A]] extends [F[K & keyof F], W[K]]
          ? Commutable<E[K & keyof E], E[A], K>
          : [W[K], O[A]] extends [F[A], W[K]]
            ? Commutable<E[A], E[K & keyof E], K>
            : K
    : K
}[number]
/** A pool that starts a branch is not the only one that reads its input. */
type Commutable<First, Second, K> = First extends readonly [unknown, Rectifier, ...unknown[]]
  ? Second extends readonly [unknown, MaxPool, unknown]
    ? never
    : K
  : K

/** The sentence at the first position that is wrong. */
type OrderFrom<E extends Entries, O extends readonly number[], Done extends readonly unknown[] = readonly []> = O extends readonly [
  infer A extends number,
  ...infer Rest extends readonly number[]
]
  ? number extends A
    ? unknown
    : A extends Done['length']
      ? OrderFrom<E, Rest, readonly [...Done, unknown]>
      : AfterCommuted<E, Done['length'] & number, [...Done, unknown]['length'], A, Rest> extends readonly [
            unknown,
            ...infer Later extends readonly number[]
          ]
        ? OrderFrom<E, Later, readonly [...Done, unknown, unknown]>
        : readonly [
            ...Done,
            Invalid<`order: ${A} cannot run at position ${Done['length'] & number}; only a max pool may run before the rectifier that it follows`>,
            ...Unchecked<Rest>
          ]
  : unknown

/**
 * The rest of the order where A and what follows it are the rectifier at `First` and the pool at
 * `Second`, commuted.
 */
type AfterCommuted<E extends Entries, First extends number, Second, A, Rest extends readonly number[]> = [A, Rest[0]] extends [
  Second,
  First
]
  ? Commutable<E[First], E[A & number], 'not'> extends never
    ? Rest
    : undefined
  : undefined

/** The layers as they run. */
export type InOrder<E extends Entries, O extends readonly number[]> = O extends SourceOrder<E> ? E : { readonly [K in keyof O]: E[O[K]] }
