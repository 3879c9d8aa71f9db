import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import type * as t from 'io-ts'
import { type Failure, inputFailure } from '../failure'
import type { WeightFile } from './weight-file'

/** A key of a weights file, what its text is about, and the options that say it in its place. */
export interface MetadataSubject {
  readonly key: string
  readonly subject: string
  readonly options: string
}

/** Decodes a text as JSON; nothing more is told of what is wrong. */
export const jsonText =
  <A>(codec: t.Decoder<unknown, A>) =>
  (text: string): E.Either<undefined, A> =>
    pipe(
      E.tryCatch((): unknown => JSON.parse(text), String),
      E.chainW(codec.decode),
      E.mapLeft(() => undefined)
    )

/**
 * Decodes what a weights file says under a key; undefined where it says nothing. `decode` returns
 * what is wrong with a text, if it can tell.
 */
export const decodeMetadata =
  <A>({ key, subject, options }: MetadataSubject, decode: (text: string) => E.Either<string | undefined, A>) =>
  ({ path, metadata: { [key]: text } }: Pick<WeightFile, 'path' | 'metadata'>): E.Either<Failure, A | undefined> =>
    text === undefined
      ? E.right(undefined)
      : E.mapLeft((fault: string | undefined) =>
          inputFailure(
            `${path}: what it says of its ${subject} (${key}) cannot be read${fault === undefined ? '' : ` (${fault})`}: give ${options}`
          )
        )(decode(text))
