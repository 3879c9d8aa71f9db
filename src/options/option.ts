import type * as E from 'fp-ts/Either'
import type * as t from 'io-ts'

/** The form of a value on the command line: a flag without one, or a text after the option. */
export type CommandLineForm<Given> =
  | { readonly form: 'flag' }
  | {
      readonly form: 'text'
      /** The word that stands for the text in usage: the `n` of `--steps <n>`. */
      readonly placeholder: string
      /** Reads the text, or answers with a sentence on why it says nothing. */
      readonly parse: (text: string) => E.Either<string, Given>
      /** All values that there are, where they are few. */
      readonly choices?: readonly string[]
      /** True if the option may be given again, for a longer list. */
      readonly isRepeatable?: true
      /** True if the option may stand without its text, and is then true. */
      readonly isOptional?: true
      /** True if an empty text is a value. */
      readonly mayBeEmpty?: true
    }

/** A kind of value: `Given` is what JavaScript gives, and `Decoded` what is made of it. */
export interface Kind<Given, Decoded = Given> {
  readonly codec: t.Decoder<unknown, Decoded>
  /** Absent where only JavaScript can give such a value. */
  readonly commandLine?: CommandLineForm<Given>
}

interface Details<Decoded> {
  /** The value where none is given. */
  readonly fallback?: Decoded
  /** Words on what holds where none is given and that is no one value. */
  readonly otherwise?: string
  /** The option's name in earlier versions, which is still taken. */
  readonly formerly?: string
  /** Options that cannot stand beside it on the command line. */
  readonly conflicts?: readonly string[]
  /** Options without which it says nothing. */
  readonly needs?: readonly string[]
  /** What the flag of its name with `no-` before it says, where there is one: it gives false. */
  readonly refusal?: string
  /** True if the help and the documents leave it out. */
  readonly isHidden?: true
}

/**
 * The presence of an option: it must be given, may be left out, or has a value where it is left
 * out.
 */
type Presence = 'required' | 'optional' | 'defaulted'

/** A row of a table of options. */
export interface OptionRow<Given, Decoded, P extends Presence> extends Details<Decoded> {
  readonly kind: Kind<Given, Decoded>
  readonly help: string
  readonly presence: P
  /** True if the command line takes it by its place, without a name. */
  readonly isArgument?: true
}

/**
 * Options by their names in JavaScript; the command line writes `hostBudget` as `--host-budget`.
 */
export type OptionTable = Readonly<Record<string, OptionRow<unknown, unknown, Presence>>>

/** A row for an option that must be given. */
export const required = <G, D>(kind: Kind<G, D>, help: string): OptionRow<G, D, 'required'> => ({ kind, help, presence: 'required' })

/** A required value that the command line takes by its place. */
export const argument = <G, D>(kind: Kind<G, D>, help: string): OptionRow<G, D, 'required'> => ({
  ...required(kind, help),
  isArgument: true
})

/** A value that the command line takes by its place, as one that may be left out. */
export const optionalArgument = <G, D>(row: OptionRow<G, D, 'required'>): OptionRow<G, D, 'optional'> => ({ ...row, presence: 'optional' })

/** A row for an option that may be left out, and then has no value. */
export const optional = <G, D>(
  kind: Kind<G, D>,
  help: string,
  details: Omit<Details<D>, 'fallback'> = {}
): OptionRow<G, D, 'optional'> => ({
  kind,
  help,
  presence: 'optional',
  ...details
})

/** A row for an option that has the value `fallback` where it is left out. */
export const withDefault = <G, D>(kind: Kind<G, D>, help: string, fallback: D, details: Details<D> = {}): OptionRow<G, D, 'defaulted'> => ({
  kind,
  help,
  presence: 'defaulted',
  fallback,
  ...details
})

/** An option that only JavaScript can give. */
export const fromJavaScript = <A>(codec: t.Decoder<unknown, A>): OptionRow<A, A, 'optional'> => ({
  kind: { codec },
  help: '',
  presence: 'optional'
})

type GivenOf<O> = O extends OptionRow<infer G, infer _, infer _P> ? G : never
type DecodedOf<O> = O extends OptionRow<infer _, infer D, infer _P> ? D : never
type PresenceOf<O> = O extends OptionRow<infer _, infer _D, infer P> ? P : never

/** The type of the options of a table, as JavaScript gives them. */
export type OptionsOf<T> = {
  readonly [K in keyof T as PresenceOf<T[K]> extends 'required' ? K : never]: GivenOf<T[K]>
} & {
  readonly [K in keyof T as PresenceOf<T[K]> extends 'required' ? never : K]?: GivenOf<T[K]> | undefined
}

/**
 * The type of the options of a table once they are decoded: what has a value where it is left out
 * is filled in.
 */
export type DecodedOptions<T> = {
  readonly [K in keyof T as PresenceOf<T[K]> extends 'optional' ? never : K]: DecodedOf<T[K]>
} & {
  readonly [K in keyof T as PresenceOf<T[K]> extends 'optional' ? K : never]?: DecodedOf<T[K]>
}

/** The option as the command line writes it: `--host-budget` for `hostBudget`. */
export const optionFlag = (name: string): string => `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`

/** A text as usage writes it behind its option: `<n>`, or `[n]` where that may stand alone. */
export const placeholderUsage = ({ placeholder, isOptional }: Extract<CommandLineForm<unknown>, { readonly form: 'text' }>): string =>
  isOptional ? `[${placeholder}]` : `<${placeholder}>`

/** An argument as usage writes it: `<model>`, or `[model]` where it may be left out. */
export const argumentUsage = (name: string, { presence }: Pick<OptionTable[string], 'presence'>): string =>
  presence === 'required' ? `<${name}>` : `[${name}]`

/** The flag that refuses what an option does: `--no-measure` of `measure`. */
export const refusalFlag = (name: string): string => `--no-${optionFlag(name).slice(2)}`

/** A row as the help and the documents show it. */
type ShownOption = Pick<OptionTable[string], 'kind' | 'help' | 'fallback' | 'otherwise'>

/** Words on what holds where an option is left out; undefined where nothing is to be said. */
export const defaultText = ({ fallback, otherwise }: ShownOption): string | undefined =>
  otherwise ?? (typeof fallback === 'string' || typeof fallback === 'number' ? `${fallback}` : undefined)

/** An option's line in the help: what it is, its choices, and what holds where it is left out. */
export const helpLine = (option: ShownOption): string => {
  const { commandLine } = option.kind
  const choices = commandLine?.form === 'text' && commandLine.choices ? [commandLine.choices.join(', ')] : []
  const value = defaultText(option)
  const notes = [...choices, ...(value === undefined ? [] : [`default: ${value}`])]
  return notes.length === 0 ? option.help : `${option.help} (${notes.join('; ')})`
}
