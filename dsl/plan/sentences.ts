/** Sentences of plan types in words of their own. */
import type { IsUnion } from '../flat/entries'
import type { Invalid } from '../typing/tensor'

/** A tuple as long as L of which nothing is asked. */
export type Unchecked<L extends readonly unknown[]> = { readonly [K in keyof L]: unknown }

/**
 * Fields of G that Known does not have: "a segment has no field winogad; did you mean winograd?"
 */
export type UnknownFields<G, Known, Words extends string> = {
  readonly [K in Exclude<keyof G, keyof Known> & string]: Invalid<`${Words} ${K}${Suggestion<Close<K, keyof Known & string>>}`>
}
type Suggestion<Name extends string> = [Name] extends [never] ? '' : IsUnion<Name> extends true ? '' : `; did you mean ${Name}?`
/** Names like this one but for small and capital letters, or that begin like it. */
type Close<Given extends string, Name extends string> = [Alike<Given, Name>] extends [never] ? StartsAlike<Given, Name> : Alike<Given, Name>
type Alike<Given extends string, Name extends string> = Name extends string
  ? Lowercase<Given> extends Lowercase<Name>
    ? Name
    : never
  : never
type StartsAlike<Given extends string, Name extends string> = Given extends `${infer A}${infer B}${infer C}${string}`
  ? Extract<Name, `${A}${B}${C}${string}`>
  : never

/** "auto, plain, chen" */
export type Listed<Names> = Names extends readonly [infer First extends string, ...infer Rest]
  ? `${First}${Rest extends readonly [] ? '' : `, ${Listed<Rest>}`}`
  : ''
