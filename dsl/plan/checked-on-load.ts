import type { Entries, Entry } from '../flat/entries'
import type { Convolution } from '../ops'
import type { Invalid } from '../typing/tensor'
import type { PlanFileSegment } from './plan-file'

/**
 * Gives one sentence on why a segment, which Text names and whose layers have Names, cannot let
 * these normalise what they read, at the names that are wrong, if that is so.
 */
export type OnLoadError<G extends PlanFileSegment, Text extends string, E extends Entries, Names extends string> = G extends {
  readonly normaliseOnLoad: infer W extends readonly [string, ...string[]]
}
  ? W extends readonly (Names & Convolutions<E>)[]
    ? unknown
    : { readonly normaliseOnLoad: { readonly [K in keyof W]: W[K] extends Names & Convolutions<E> ? unknown : Refusal<W[K], Text, E> } }
  : unknown

type Convolutions<E extends Entries> = E[number] extends infer X
  ? X extends readonly [infer Name, Convolution, ...unknown[]]
    ? Name
    : never
  : never

type Refusal<Name extends string, Text extends string, E extends Entries> = string extends Name
  ? unknown
  : Extract<E[number], readonly [Name, ...unknown[]]> extends infer X
    ? [X] extends [never]
      ? Invalid<`${Text}: normaliseOnLoad: there is no layer ${Name}`>
      : X extends Entry
        ? X[1] extends Convolution
          ? Invalid<`${Text}: normaliseOnLoad: ${Name} is not in this segment`>
          : Invalid<`${Text}: normaliseOnLoad: ${Name} is no convolution but ${X[1]}`>
        : never
    : never
