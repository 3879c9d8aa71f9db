import { existsSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import type * as t from 'io-ts'
import { type Outcome, inputFailure, errorReason } from '../failure'
import { writeFileAtomic } from '../files/atomic-write'
import { withExclusiveUse } from '../files/exclusive-use'
import { makeFolder } from '../files/make-folder'
import type { Watching } from './watching'

/** What is kept of a measurement: its codec, and what sentences call it. */
interface Kept<A> {
  readonly codec: t.Decoder<unknown, A>
  readonly name: string
  /** What plans do without it. */
  readonly without: string
}

/** A sentence on a file of measurements that cannot be used. */
export const unusable = (path: string, fault: string, { without }: Pick<Kept<unknown>, 'without'>): string =>
  `${path}: ${fault}; ${without}`

/** As if nothing had been measured where a file cannot be used, once that is told. */
export const unlessUnusable = <A>(read: E.Either<string, A | undefined>, { onNotice }: Watching = {}): A | undefined =>
  E.getOrElse((sentence: string): A | undefined => {
    onNotice?.(sentence)
    return undefined
  })(read)

/** What was measured before, undefined where nothing was; of a damaged file a sentence. */
export const readMeasurement = <A>(path: string, kept: Kept<A>): E.Either<string, A | undefined> => {
  if (!existsSync(path)) return E.right(undefined)
  return pipe(
    E.tryCatch(
      () => JSON.parse(readFileSync(path, 'utf8').replace(/^\ufeff/, '')) as unknown,
      (thrown) => unusable(path, `cannot be read as JSON (${errorReason(thrown)})`, kept)
    ),
    E.chain((value) => E.mapLeft(() => unusable(path, `is not ${kept.name}`, kept))(kept.codec.decode(value)))
  )
}

const makeCacheFolder = (path: string): Outcome<unknown> =>
  TE.tryCatch(
    () => makeFolder(dirname(path)),
    (thrown) =>
      inputFailure(`${dirname(path)}: cannot be made (${errorReason(thrown)}); set XDG_CACHE_HOME to a folder that can be written`)
  )

/** Keeps a measurement for all later plans. */
export const writeMeasurement = (path: string, value: object): Outcome<void> =>
  pipe(
    makeCacheFolder(path),
    TE.chain(() => writeFileAtomic(path, () => [Buffer.from(`${JSON.stringify(value)}\n`)]))
  )

/**
 * Keeps a measurement joined with what is kept by then, undefined where nothing is: another process
 * may have measured meanwhile. A damaged file is replaced.
 */
export const joinMeasurement = <A extends object>(path: string, kept: Kept<A>, join: (found: A | undefined) => A): Outcome<void> =>
  pipe(
    makeCacheFolder(path),
    TE.chain(() =>
      TE.tryCatch(
        () =>
          withExclusiveUse(
            `${path}.lock`,
            pipe(
              TE.fromIO(() => unlessUnusable(readMeasurement(path, kept))),
              TE.chain((found) => writeMeasurement(path, join(found)))
            )
          ),
        (thrown) => inputFailure(`${errorReason(thrown)}; set XDG_CACHE_HOME to a folder that can be written`)
      )
    ),
    TE.chainEitherK((written) => written)
  )
