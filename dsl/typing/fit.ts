import type { CheckModelEnd, WalkFromStart, WalkToEnd } from './walk'
import type { Layers } from '../arguments'
import type { LocateErrorInList } from './error-place'
import type { RepeatedName, Repeats } from '../flat/repeated-name'
import type { Invalid, InputOf, LayersOf, Start } from './tensor'

/**
 * Without this option what may be absent looks like what is there, and no other sentence could be
 * trusted.
 */
type NotStrict = 'the compiler option strictNullChecks is off: put "strict": true into tsconfig.json'
/** Y, where the compiler can tell it. */
export type RequireStrict<Y> = undefined extends 0 ? Invalid<NotStrict> : Y

/**
 * The type that a list must have besides L: unknown, unless one of its layers is a mistake; then a
 * tuple with the sentence in its place.
 */
export type Fit<X, L extends Layers> = RequireStrict<
  WalkFromStart<X, L> extends string
    ? Misfit<L, LocateErrorInList<X, L, WalkFromStart<X, L> & string>>
    : Repeats<L> extends true
      ? Misfit<L, RepeatedName<L>>
      : unknown
>

/**
 * The type that the layers of a whole model must have besides L: as Fit, with the checks of the
 * last segment's end.
 */
export type FitToEnd<X, L extends Layers> = RequireStrict<
  WalkToEnd<X, L> extends string
    ? Misfit<L, LocateErrorInList<X, L, WalkToEnd<X, L> & string>>
    : Repeats<L> extends true
      ? Misfit<L, RepeatedName<L>>
      : unknown
>

/**
 * A tuple as long as L, `unknown` everywhere but where the mistake is; of a mistake that has no
 * sentence, run time tells.
 */
type Misfit<L extends Layers, Mistake> = [Mistake] extends [never]
  ? unknown
  : Mistake extends readonly [infer At, infer Sentence extends string]
    ? { readonly [K in keyof L]: K extends `${At & number}` ? Invalid<Sentence> : unknown }
    : unknown

/** The type that a tensor must have besides X to make a whole model. */
export type WholeModel<X> = RequireStrict<
  CheckModelEnd<X> extends string
    ? SentenceOf<LocateErrorInList<Start<InputOf<X>>, LayersOf<X>, CheckModelEnd<X> & string>>
    : Repeats<LayersOf<X>> extends true
      ? SentenceOf<RepeatedName<LayersOf<X>>>
      : unknown
>
type SentenceOf<Mistake> = Mistake extends readonly [unknown, infer Sentence extends string] ? Invalid<Sentence> : unknown
