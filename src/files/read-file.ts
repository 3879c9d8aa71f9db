import { readFileSync } from 'node:fs'
import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import { type Failure, inputFailure, errorReason } from '../failure'

/**
 * The text of a file, without a byte order mark; `thing` says what it should be where it cannot be
 * read: "plan".
 */
export const readText = (thing: string, path: string): E.Either<Failure, string> =>
  E.tryCatch(
    () => readFileSync(path, 'utf8').replace(/^\ufeff/, ''),
    (thrown) => inputFailure(`the ${thing} ${path} cannot be read: ${errorReason(thrown)}`)
  )

/** The value that a file of JSON holds. */
export const readJson = (thing: string, path: string): E.Either<Failure, unknown> =>
  pipe(
    readText(thing, path),
    E.chain((text) =>
      E.tryCatch(
        () => JSON.parse(text) as unknown,
        (thrown) => inputFailure(`the ${thing} ${path} is no JSON: ${errorReason(thrown)}`)
      )
    )
  )
