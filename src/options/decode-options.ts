import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import type * as t from 'io-ts'
import { decodeAs, formatValue } from '../../staging/decoding/decode'
import { strictObject } from '../../staging/decoding/strict-object'
import { checkNode } from '../../native'
import { type Failure, type Outcome, bugFailure, deviceFailure, inputFailure, errorReason } from '../failure'
import { printable } from '../text/printable'
import { withCallbacks } from './callbacks'
import { checkNeeds } from './needed-options'
import type { DecodedOptions, OptionTable, OptionsOf } from './option'

/** The codec of a table of options, named like the function that takes them. */
const makeCodec = (name: string, table: OptionTable): t.Type<object> => {
  const codecs = (isWanted: (presence: string) => boolean): Readonly<Record<string, t.Decoder<unknown, unknown>>> =>
    Object.fromEntries(Object.entries(table).flatMap(([option, { kind, presence }]) => (isWanted(presence) ? [[option, kind.codec]] : [])))
  return strictObject<object>(
    name,
    'option',
    codecs((presence) => presence === 'required') as {},
    codecs((presence) => presence !== 'required') as {}
  )
}

/** Options under the names that they have now. */
const withCurrentNames = (table: OptionTable, options: object): object => {
  const names = new Map(
    Object.entries(table).flatMap(([name, { formerly }]) => (formerly === undefined ? [] : [[formerly, name] as const]))
  )
  const isOld = (name: string): boolean => names.has(name) && !(names.get(name)! in options)
  if (!Object.keys(options).some(isOld)) return options
  return Object.fromEntries(Object.entries(options).map(([name, value]) => [isOld(name) ? names.get(name)! : name, value]))
}

const collectDefaults = (table: OptionTable): object =>
  Object.fromEntries(Object.entries(table).flatMap(([name, { fallback }]) => (fallback === undefined ? [] : [[name, fallback]])))

/** Whole, or one sentence on the first option that is wrong. */
const decodeOptions = (name: string, table: OptionTable, options: unknown): E.Either<Failure, object> =>
  pipe(
    E.tryCatch(
      () =>
        typeof options === 'object' && options !== null && !Array.isArray(options)
          ? decodeAs('options', makeCodec(name, table))(withCurrentNames(table, options))
          : E.left(`${name} takes its options as one object, not ${formatValue(options)}`),
      (thrown) => `the options of ${name} cannot be read: ${errorReason(thrown)}`
    ),
    E.flatten,
    E.chain((decoded) => checkNeeds(table, decoded)),
    E.bimap(inputFailure, (decoded) => ({ ...collectDefaults(table), ...decoded }))
  )

/**
 * Never throws: what nobody expected is a failure with code `bug`. Its sentences are one line each,
 * whatever names stand in them.
 */
const catchBugs = <A>(outcome: () => Outcome<A>): Outcome<A> =>
  pipe(
    TE.tryCatch(() => outcome()(), bugFailure),
    TE.chainEitherK((answer) => answer),
    TE.mapLeft((failure) => ({ ...failure, message: printable(failure.message) }))
  )

/** What each of several plans or files would tell is told once. */
const withNoticesOnce = <O extends object>(options: O): O => {
  const { onNotice } = options as { readonly onNotice?: (sentence: string) => void }
  if (onNotice === undefined) return options
  const told = new Set<string>()
  const tell = (sentence: string): void => {
    if (told.has(sentence)) return
    told.add(sentence)
    onNotice(sentence)
  }
  return { ...options, onNotice: tell }
}

/**
 * A function of the library: it decodes its options whole, by their table, before anything else
 * (a Node that is too old apart), and answers with a failure where others throw.
 */
export const libraryFunction =
  <T extends OptionTable, A>(name: string, table: T, run: (options: DecodedOptions<T>) => Outcome<A>) =>
  (options: OptionsOf<T>): Outcome<A> =>
    catchBugs(() =>
      pipe(
        TE.fromEither(E.mapLeft(deviceFailure)(checkNode())),
        TE.chainEitherK(() => decodeOptions(name, table, options)),
        TE.chain((decoded) => withCallbacks((guarded: DecodedOptions<T>) => run(withNoticesOnce(guarded)))(decoded as DecodedOptions<T>))
      )
    )
