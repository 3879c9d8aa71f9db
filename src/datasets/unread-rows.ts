import { access, constants, stat } from 'node:fs/promises'
import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { type Failure, type Outcome, collectFailures, inputFailure } from '../failure'
import type { Dataset, Example } from './dataset'

/** A row that is left out of the data, and which of its files cannot be read. */
export interface UnreadRow {
  readonly kind: 'image' | 'mask'
  readonly file: string
  readonly failure: Failure
}

/** What is read of rows, and told of those that are left out. */
export type ReadRows = Pick<Dataset, 'examples' | 'leftOut' | 'skippedFiles'>

const isUnread = (row: Example | UnreadRow): row is UnreadRow => 'failure' in row

/** A failure with the place in the data before it. */
export const prependOrigin =
  (origin: string) =>
  ({ code, message }: Failure): Failure => ({ code, message: `${origin}: ${message}` })

/**
 * Sees that an image or a mask exists and may be read. What is no file is not opened: a pipe would
 * wait for its other end.
 */
export const checkExists = (kind: UnreadRow['kind'], path: string, origin: string): Outcome<void> =>
  pipe(
    TE.tryCatch(
      async () => {
        await access(path, constants.R_OK)
        return stat(path)
      },
      () =>
        inputFailure(
          `${origin}: the ${kind} ${path} does not exist or may not be read: mend the path (--root and --suffix complete it), or leave the row out`
        )
    ),
    TE.chainEitherK((found) =>
      found.isFile()
        ? E.right(undefined)
        : E.left(inputFailure(`${origin}: the ${kind} ${path} is no ordinary file: mend the path, or leave it out`))
    )
  )

/** A step of reading a row, whose failure leaves the row out where that is asked for. */
export const skipIfBad =
  (skipBad: boolean | undefined, kind: UnreadRow['kind'], file: string) =>
  <A>(read: Outcome<A>): TE.TaskEither<Failure | UnreadRow, A> =>
    TE.mapLeft((failure: Failure) => (skipBad === true && failure.code === 'input' ? { kind, file, failure } : failure))(read)

/** The row, or what it is left out for; other failures stay failures. */
export const recoverUnread = <A>(row: TE.TaskEither<Failure | UnreadRow, A>): Outcome<A | UnreadRow> =>
  TE.orElse((failed: Failure | UnreadRow): Outcome<A | UnreadRow> => ('failure' in failed ? TE.right(failed) : TE.left(failed)))(row)

const unreadText = (unread: readonly UnreadRow[]): string => {
  const count = (wanted: UnreadRow['kind']): number => unread.filter(({ kind }) => kind === wanted).length
  const of = (images: number, one: string, several: string): readonly string[] =>
    images === 0 ? [] : [images === 1 ? `1 image ${one}` : `${images} images ${several}`]
  const parts = [
    ...of(count('image'), 'that cannot be read', 'that cannot be read'),
    ...of(count('mask'), 'whose mask cannot be read', 'whose masks cannot be read')
  ]
  return `left out ${unread.length === 1 ? 'is' : 'are'} ${parts.join(' and ')}`
}

/** The rows that can be read, and a sentence on the others; a failure where none can. */
export const leaveOutUnread = (
  path: string,
  found: readonly (Example | UnreadRow)[],
  leftOut: string | undefined
): E.Either<Failure, ReadRows> => {
  const [examples, unread] = [found.flatMap((row) => (isUnread(row) ? [] : [row])), found.filter(isUnread)]
  const failures = collectFailures(unread.map(({ failure }) => E.left(failure)))
  if (E.isRight(failures)) return E.right({ examples, ...(leftOut === undefined ? {} : { leftOut }) })
  if (examples.length === 0) return failures
  const sentence = `${path}: ${unreadText(unread)} (${failures.left.message})`
  return E.right({
    examples,
    leftOut: leftOut === undefined ? sentence : `${leftOut}; ${sentence}`,
    skippedFiles: unread.map(({ file }) => file)
  })
}
