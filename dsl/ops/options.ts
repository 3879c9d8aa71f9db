import type { Divides } from '../shapes/arithmetic'

/** A size along both directions: one number, or [height, width]. */
export type Pair = number | readonly [number, number]
/** A size on every side: one number, [height, width], or [top, bottom, left, right]. */
export type Padding = Pair | readonly [number, number, number, number]

/** No options. */
export interface NoOptions {}

/** [height, width]. */
export const pair = (value: Pair): readonly [number, number] => (typeof value === 'object' ? [value[0], value[1]] : [value, value])

/** Tells whether all are whole numbers, none below `least`. */
export const areIntegers = (values: readonly number[], least: number): boolean =>
  values.every((value) => Number.isInteger(value) && value >= least)

/** The sentence that refuses an op's sizes. */
export const sizesError = (op: string): string => `${op}: sizes must be whole numbers above 0, and paddings at least 0`
/** The type of what sizesError returns. */
export type SizesError<P extends string> = `${P}: sizes must be whole numbers above 0, and paddings at least 0`

/** Returns why channels do not divide into the groups of a convolution; undefined where they do. */
export const validateGroups = (op: string, inChannels: number, outChannels: number, groups: number): string | undefined =>
  inChannels % groups !== 0
    ? `${op}: its ${inChannels} input channels do not divide into ${groups} groups`
    : outChannels % groups !== 0
      ? `${op}: its ${outChannels} output channels do not divide into ${groups} groups`
      : undefined
/** The type of what validateGroups returns. */
export type GroupsError<P extends string, In extends number, Out extends number, Groups extends number> =
  Divides<Groups, In> extends false
    ? `${P}: its ${In} input channels do not divide into ${Groups} groups`
    : Divides<Groups, Out> extends false
      ? `${P}: its ${Out} output channels do not divide into ${Groups} groups`
      : undefined

/**
 * Option K of the arguments A, or its default. Where the compiler asks whether a generic function
 * could be right for any type parameter, it puts a stand-in for all types in its place: that is
 * taken for any number, or for both flags, as all of its kind is here.
 */
export type OptionValue<A, K extends string, Default> = K extends keyof A ? Value<A[K], Default> : Default
type Value<V, Default> = [number] extends [V]
  ? Default extends boolean
    ? boolean
    : number
  : OneSize<undefined extends V ? Exclude<V, undefined> | Default : V>
/** V, where a number that is one of several is any: of each alone there would be a shape. */
export type OneSize<V, All = V> = V extends number ? ([All] extends [V] ? V : number) : V
/** The height of a pair of sizes: one number for both, or [height, width]. */
export type Height<P> = P extends number ? P : P extends readonly [infer H, ...unknown[]] ? SideValue<H> : number
/** The width of a pair of sizes: one number for both, or [height, width]. */
export type Width<P> = P extends number ? P : P extends readonly [unknown, infer W] ? SideValue<W> : number
/** A size of a pair or of a padding; a stand-in, and what is one of several, is any. */
export type SideValue<N> = [number] extends [N] ? number : OneSize<N & number>
/** A number; a stand-in is any. */
export type SizeValue<N> = [number] extends [N] ? number : N & number
