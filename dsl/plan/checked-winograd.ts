import type { Entries, Entry } from '../flat/entries'
import type { Convolution } from '../ops'
import type { Invalid } from '../typing/tensor'
import type { PlanFileSegment } from './plan-file'
import type { NamesWithin, NotInSegment, ShowSegment } from './segment-names'

/**
 * Gives one sentence on why a segment cannot run these of its layers by Winograd, at the names that
 * are wrong, if that is so.
 */
export type WinogradError<G extends PlanFileSegment, E extends Entries, F extends readonly unknown[]> = G extends {
  readonly winograd: infer W extends readonly [string, ...string[]]
}
  ? WinogradWithin<E, F, G['from'], G['to']> extends infer Names extends string
    ? W extends readonly Names[]
      ? unknown
      : { readonly winograd: { readonly [K in keyof W]: W[K] extends Names ? unknown : WinogradRefusal<G, W[K], E, F> } }
    : never
  : unknown

/** Names of the convolutions from position K up to To that Winograd can compute. */
type WinogradWithin<E extends Entries, F extends readonly unknown[], K, To, Names = never> = K extends To
  ? Names
  : WinogradWithin<
      E,
      F,
      F[K & number],
      To,
      E[K & number][1] extends Convolution ? (Transformable<E[K & number][2]> extends true ? Names | E[K & number][0] : Names) : Names
    >

/**
 * Tells whether Winograd's algorithm can compute a convolution of this text; a text that is not
 * known passes.
 */
type Transformable<Text extends string> = Text extends `conv2d ${string} k${infer K} ${infer Rest}`
  ? Three<K> extends false
    ? false
    : Ones<Rest>
  : Text extends `conv2d ${string} k${infer K}`
    ? Three<K>
    : true
type Three<K extends string> = K extends '3' | '3x3' ? true : {} extends Readonly<Record<K, 1>> ? true : false
/** Of the options after the kernel. */
type Ones<Rest extends string> = Rest extends `${infer Word} ${infer More}` ? (One<Word> extends false ? false : Ones<More>) : One<Rest>
type One<Word extends string> = Word extends 's1' | 's1x1' | 'g1'
  ? true
  : Word extends `${'s' | 'g'}${infer N}`
    ? {} extends Readonly<Record<N, 1>>
      ? true
      : false
    : true

type WinogradRefusal<G extends PlanFileSegment, Name extends string, E extends Entries, F extends readonly unknown[]> = string extends Name
  ? unknown
  : Extract<E[number], readonly [Name, ...unknown[]]> extends infer X
    ? [X] extends [Entry]
      ? [X] extends [never]
        ? NotInSegment<G, Name, E, 'winograd'>
        : X[1] extends Convolution
          ? Name extends NamesWithin<E, F, G['from'], G['to']>
            ? Invalid<`${ShowSegment<G>}: winograd: there is none for ${Name} (${X[2]}); it takes 3x3 kernels with strides of 1 and one group`>
            : NotInSegment<G, Name, E, 'winograd'>
          : Invalid<`${ShowSegment<G>}: winograd: ${Name} is no convolution but ${X[1]}`>
      : never
    : never
