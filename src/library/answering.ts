import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import type * as t from 'io-ts'
import { decodeAs, shown } from '../../staging/decoding/decode'
import { type OptionalCodecs, type RequiredCodecs, exactly } from '../../staging/decoding/exactly'
import { type Failure, type Outcome, bugFailure, inputFailure, reasonOf } from '../failure'
import { printable } from '../printable'
import { withCallbacks } from './callbacks'

/** Whole, or one sentence on the first option that is wrong. */
const decodeOptions = <O>(codec: t.Type<O>, options: unknown): E.Either<Failure, O> =>
  pipe(
    E.tryCatch(
      () =>
        typeof options === 'object' && options !== null && !Array.isArray(options)
          ? decodeAs('options', codec)(options)
          : E.left(`${codec.name} takes its options as one object, not ${shown(options)}`),
      (thrown) => `the options of ${codec.name} cannot be read: ${reasonOf(thrown)}`
    ),
    E.flatten,
    E.mapLeft(inputFailure)
  )

/**
 * The codec of a function's options, named like the function: the compiler holds it equal to their
 * type.
 */
export const optionsOf = <O extends object>(name: string, required: RequiredCodecs<O>, optional: OptionalCodecs<O>): t.Type<O> =>
  exactly<O>(name, 'option', required, optional)

/**
 * Never throws: what nobody expected is a failure with code `bug`. Its sentences are one line each,
 * whatever names stand in them.
 */
export const total = <A>(outcome: () => Outcome<A>): Outcome<A> =>
  pipe(
    TE.tryCatch(() => outcome()(), bugFailure),
    TE.chainEitherK((answer) => answer),
    TE.mapLeft((failure) => ({ ...failure, message: printable(failure.message) }))
  )

/**
 * A function of the library: it decodes its options whole before anything else, and answers with a
 * failure where others throw.
 */
export const answering =
  <O extends object, A>(codec: t.Type<O>, run: (options: O) => Outcome<A>) =>
  (options: O): Outcome<A> =>
    total(() => pipe(TE.fromEither(decodeOptions(codec, options)), TE.chain(withCallbacks(run))))
