import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import * as t from 'io-ts'
import { type Failure, type Outcome, inputFailure } from '../failure'
import { openWeightFile } from './open-weight-file'
import type { Metadata } from './safetensors'

const key = 'tilefold.classes'

/** Without what would move a terminal's cursor. */
const isName = (text: string): boolean => /^[^\p{C}]+$/u.test(text)
const codec = t.readonlyArray(t.refinement(t.string, isName))

/** What a weights file keeps of the names of classes, or values; nothing of numbers. */
export const classMetadata = (names: readonly string[] | undefined): Metadata =>
  names === undefined ? {} : { [key]: JSON.stringify(names) }

/** The names of classes, or values, that a file of weights says; undefined where it has none. */
export const readTrainedClasses = (path: string): Outcome<readonly string[] | undefined> =>
  pipe(
    openWeightFile(path),
    TE.chainEitherK(({ metadata: { [key]: text } }): E.Either<Failure, readonly string[] | undefined> => {
      if (text === undefined) return E.right(undefined)
      return pipe(
        E.tryCatch((): unknown => JSON.parse(text), String),
        E.chainW(codec.decode),
        E.mapLeft(() => inputFailure(`${path}: what it says of its classes (${key}) cannot be read: give --class-names`))
      )
    })
  )
