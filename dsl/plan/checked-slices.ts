import type { Invalid } from '../typing/tensor'
import type { PlanFileSegment } from './plan-file'

/**
 * Gives one sentence on why a segment, which Text names, cannot run these of its layers in slices,
 * at the names that do not run by Winograd, if that is so.
 */
export type SlicesError<G extends PlanFileSegment, Text extends string> = G extends {
  readonly slicedWinograd: infer S extends readonly [string, ...string[]]
}
  ? S extends readonly ByWinograd<G>[]
    ? unknown
    : { readonly slicedWinograd: { readonly [K in keyof S]: S[K] extends ByWinograd<G> ? unknown : Refusal<S[K], Text> } }
  : unknown

/** Names of the convolutions that a segment runs by Winograd. */
type ByWinograd<G extends PlanFileSegment> = G extends { readonly winograd: infer W extends readonly string[] } ? W[number] : never

type Refusal<Name extends string, Text extends string> = string extends Name
  ? unknown
  : Invalid<`${Text}: slicedWinograd: ${Name} is not among the convolutions of winograd`>
