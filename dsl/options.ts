import type { Divides } from './arithmetic'
import type { Op, OpArguments, Pair } from './arguments'

/** An option with the letters before its value, or one that is written as a word where it has the given value. */
type OptionText<K> = readonly [option: K, letters: string] | readonly [option: K, value: boolean, word: string]

/** The options that each op knows, in the order in which plans write them. */
export const optionTexts = {
  conv2d: [
    ['out', ''],
    ['k', 'k'],
    ['s', 's'],
    ['p', 'p'],
    ['d', 'd'],
    ['groups', 'g'],
    ['bias', false, 'no-bias']
  ],
  relu: [],
  leakyRelu: [['slope', '']],
  maxPool2d: [
    ['k', 'k'],
    ['s', 's'],
    ['p', 'p'],
    ['d', 'd'],
    ['ceilMode', true, 'ceil']
  ],
  avgPool2d: [
    ['k', 'k'],
    ['s', 's'],
    ['p', 'p'],
    ['ceilMode', true, 'ceil'],
    ['countIncludePad', false, 'exclude-pad']
  ],
  globalAvgPool: [],
  flatten: [],
  linear: [
    ['out', ''],
    ['in', 'in'],
    ['bias', false, 'no-bias']
  ],
  dropout: [['rate', '']],
  convTranspose2d: [
    ['out', ''],
    ['k', 'k'],
    ['s', 's'],
    ['p', 'p'],
    ['outputPadding', 'op'],
    ['d', 'd'],
    ['groups', 'g'],
    ['bias', false, 'no-bias']
  ],
  batchNorm: [
    ['eps', 'eps'],
    ['momentum', 'momentum'],
    ['affine', false, 'no-affine'],
    ['frozen', true, 'frozen']
  ],
  groupNorm: [
    ['groups', ''],
    ['eps', 'eps'],
    ['affine', false, 'no-affine']
  ],
  instanceNorm: [
    ['eps', 'eps'],
    ['affine', true, 'affine']
  ],
  sigmoid: [],
  tanh: [],
  silu: [],
  gelu: [],
  resize: [
    ['mode', ''],
    ['size', ''],
    ['scale', 'x'],
    ['to', 'to-'],
    ['alignCorners', true, 'align-corners']
  ],
  adaptiveAvgPool2d: [['out', '']],
  add: [],
  concat: [],
  softmaxCrossEntropy: [],
  pixelCrossEntropy: [
    ['ignore', 'ignore'],
    ['classWeights', 'weights']
  ],
  meanSquaredError: []
} as const satisfies { readonly [P in Op]: readonly OptionText<keyof OpArguments[P]>[] }

/** [height, width]. */
export const pair = (value: Pair): readonly [number, number] => (typeof value === 'object' ? [value[0], value[1]] : [value, value])

export const wholes = (values: readonly number[], least: number): boolean =>
  values.every((value) => Number.isInteger(value) && value >= least)

export const sizesMistake = (op: Op): string => `${op}: sizes must be whole numbers above 0, and paddings at least 0`
/** The type of what sizesMistake returns. */
export type SizesMistake<P extends Op> = `${P}: sizes must be whole numbers above 0, and paddings at least 0`

/** Why channels do not divide into the groups of a convolution; undefined where they do. */
export const groupsMistake = (op: Op, inChannels: number, outChannels: number, groups: number): string | undefined =>
  inChannels % groups !== 0
    ? `${op}: its ${inChannels} input channels do not divide into ${groups} groups`
    : outChannels % groups !== 0
      ? `${op}: its ${outChannels} output channels do not divide into ${groups} groups`
      : undefined
/** The type of what groupsMistake returns. */
export type GroupsMistake<P extends Op, In extends number, Out extends number, Groups extends number> =
  Divides<Groups, In> extends false
    ? `${P}: its ${In} input channels do not divide into ${Groups} groups`
    : Divides<Groups, Out> extends false
      ? `${P}: its ${Out} output channels do not divide into ${Groups} groups`
      : undefined

/**
 * Option K of the arguments A, or its default. Where the compiler asks whether a generic function could be right for any type parameter, it
 * puts a stand-in for all types in its place: that is taken for any number, or for both flags, as all of its kind is here.
 */
export type Option<A, K extends string, Default> = K extends keyof A ? Value<A[K], Default> : Default
type Value<V, Default> = [number] extends [V]
  ? Default extends boolean
    ? boolean
    : number
  : undefined extends V
    ? Exclude<V, undefined> | Default
    : V
export type Height<P> = P extends number ? P : P extends readonly [infer H, ...unknown[]] ? Size<H> : number
export type Width<P> = P extends number ? P : P extends readonly [unknown, infer W] ? Size<W> : number
/** A number; a stand-in is any. */
export type Size<N> = [number] extends [N] ? number : N & number
