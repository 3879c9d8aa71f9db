/**
 * What is said of options that a layer does not know, or lacks: at run time and, with the same
 * sentences, in types.
 */
import type { DirectiveArguments } from './arguments'
import { opRecords, type Op, type OpArguments } from './ops'
import { allDims } from './ops/op-record'
import type { AnyTensor, Invalid } from './typing/tensor'

/** The layers whose options are checked by name: ops, and `tile` with its counts. */
export interface CheckedArguments extends OpArguments {
  readonly tile: DirectiveArguments['tile']
}

/**
 * Names that other libraries, and plain words, have for an option, in small letters without `_`.
 */
const meanings = {
  kernel: 'k',
  kernelsize: 'k',
  stride: 's',
  padding: 'p',
  dilation: 'd',
  channels: 'out',
  filters: 'out',
  outchannels: 'out',
  outfeatures: 'out',
  outputsize: 'out',
  size: 'out',
  infeatures: 'in',
  numgroups: 'groups',
  negativeslope: 'slope',
  alpha: 'slope',
  epsilon: 'eps',
  scalefactor: 'scale',
  ignoreindex: 'ignore',
  weight: 'classWeights',
  p: 'rate'
} as const

/** Returns the names of the options that a layer takes. */
export const listKnownOptions = (of: keyof CheckedArguments): readonly string[] =>
  of === 'tile' ? allDims : opRecords[of].options.map(([option]) => option)

const plain = (name: string): string => name.replaceAll('_', '').toLowerCase()

/**
 * Returns the sentence that a layer has no option of this name, with the name that was likely
 * meant.
 */
export const unknownOptionError = (of: keyof CheckedArguments, name: string): string => {
  const options = listKnownOptions(of)
  const meaning = Object.hasOwn(meanings, plain(name)) ? meanings[plain(name) as keyof typeof meanings] : undefined
  const meant = options.find((option) => plain(option) === plain(name) || option === meaning)
  return `${of} has no option ${name}; ${meant === undefined ? `it takes ${options.join(', ') || 'none'}` : `did you mean ${meant}?`}`
}

/**
 * Returns the sentence on the first option that a layer does not know, or undefined where it knows
 * all.
 */
export const validateOptionNames = (of: keyof CheckedArguments, args: object): string | undefined => {
  const unknown = Object.keys(args).find((name) => !listKnownOptions(of).includes(name))
  return unknown === undefined ? undefined : unknownOptionError(of, unknown)
}

type Plain<Name> = Name extends `${infer Start}_${infer End}` ? Plain<`${Start}${End}`> : Lowercase<Name & string>
type Meant<Option, PlainName> = Option extends (PlainName extends keyof typeof meanings ? (typeof meanings)[PlainName] : never)
  ? Option
  : Plain<Option> extends PlainName
    ? Option
    : never
type List<Options> = Options extends readonly [readonly [infer Option, ...unknown[]], ...infer Rest]
  ? `${Option & string}${Rest extends readonly [] ? '' : `, ${List<Rest>}`}`
  : 'none'
/** The type of what unknownOptionError returns, of options of these names and texts. */
type UnknownOption<P extends string, Name extends string, Option, Texts> = [Meant<Option, Plain<Name>>] extends [never]
  ? `${P} has no option ${Name}; it takes ${List<Texts>}`
  : `${P} has no option ${Name}; did you mean ${Meant<Option, Plain<Name>> & string}?`

/**
 * Returns the sentence on the first option that an op does not know, or lacks; undefined where all
 * is right.
 */
export const validateOptions = (op: Op, args: object): string | undefined => {
  const given = Object.entries(args).flatMap(([name, value]) => (value === undefined ? [] : [name]))
  const unknown = given.find((name) => !listKnownOptions(op).includes(name))
  if (unknown !== undefined) return unknownOptionError(op, unknown)
  const record = opRecords[op]
  const required: readonly string[] = 'required' in record ? record.required : []
  const missing = required.find((name) => !given.includes(name))
  return missing && `${op}: ${missing} is missing`
}

type Records = typeof opRecords
type Missing<P extends keyof CheckedArguments, A> = P extends Op
  ? Records[P] extends { readonly required: infer Names }
    ? MissingOf<Names, A>
    : never
  : never
type MissingOf<Names, A> = Names extends readonly [infer First extends string, ...infer Rest]
  ? First extends keyof A
    ? MissingOf<Rest, A>
    : First
  : never

type Texts<P extends keyof CheckedArguments> = P extends Op
  ? Records[P]['options']
  : readonly [readonly ['B'], readonly ['H'], readonly ['W']]
type Required = {
  readonly [P in keyof CheckedArguments]: P extends Op
    ? Records[P] extends { readonly required: infer Names extends readonly string[] }
      ? { readonly [K in Names[number]]: unknown }
      : {}
    : {}
}

type FirstOption<All> = All extends readonly [readonly [infer Name extends string, ...unknown[]], ...unknown[]] ? Name : never

/** The options of a layer, any of which may be left out, or undefined. */
export type GivenOptions<P extends keyof CheckedArguments> = {
  readonly [K in keyof CheckedArguments[P]]?: CheckedArguments[P][K] | undefined
}
/** The same, where those that must be given are. */
type AcceptedOptions<P extends keyof CheckedArguments> = {
  readonly [K in keyof CheckedArguments[P]]: CheckedArguments[P][K] | ({} extends Pick<CheckedArguments[P], K> ? undefined : never)
}

/**
 * The type that the options of a layer must have besides A: those that it knows, and all that it
 * needs.
 */
export type Options<P extends keyof CheckedArguments, A> = [keyof A] extends [keyof CheckedArguments[P]]
  ? A extends Required[P]
    ? AcceptedOptions<P>
    : [Missing<P, A>] extends [never]
      ? Invalid<`${P}: give its options by name, such as ${P}({ ${FirstOption<Texts<P>>}: ... })`>
      : Invalid<`${P}: ${Missing<P, A>} is missing`>
  : A extends AnyTensor
    ? Invalid<`${P}: in a pipe write ${P}()`>
    : {
        readonly [K in Exclude<keyof A, keyof CheckedArguments[P]> & string]: Invalid<
          UnknownOption<P, K, keyof CheckedArguments[P], Texts<P>>
        >
      } & GivenOptions<P>
