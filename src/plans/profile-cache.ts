import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { type Profile, profile as profileCodec } from '../../staging'
import { cacheFolder } from '../files/cache-folder'
import { type Failure, type Outcome, inputFailure, reasonOf } from '../failure'
import { makeFolder } from '../files/make-folder'
import { writeFileAtomic } from '../files/atomic-write'

/**
 * Times belong to a device, its library (with all that they depend on in it) and a number of
 * threads.
 */
interface ProfileKey {
  readonly device: string
  readonly library: string
  readonly threads: number
}

/**
 * The file, in the user's cache folder, of times that were measured on a device with so many
 * threads.
 */
export const profilePath = ({ device, library, threads }: ProfileKey): string => {
  const hash = createHash('sha256').update(library).digest('hex').slice(0, 12)
  return join(cacheFolder(), `${device}-${hash}-${threads}-threads.json`)
}

/**
 * The profile that was measured before under this key; undefined where none was. A damaged file is
 * a failure.
 */
export const readProfile = (key: ProfileKey): E.Either<Failure, Profile | undefined> => {
  const path = profilePath(key)
  if (!existsSync(path)) return E.right(undefined)
  const fail = (fault: string): Failure => inputFailure(`${path}: ${fault}; delete it, and run tilefold profile again`)
  return pipe(
    E.tryCatch(
      () => JSON.parse(readFileSync(path, 'utf8').replace(/^\ufeff/, '')) as unknown,
      (thrown) => fail(`cannot be read as JSON (${reasonOf(thrown)})`)
    ),
    E.chain((value) => E.mapLeft(() => fail('is not a profile'))(profileCodec.decode(value))),
    E.chain((found) =>
      found.library === key.library && found.threads === key.threads
        ? E.right(found)
        : E.left(fail(`is of ${found.library} with ${found.threads} threads`))
    )
  )
}

/**
 * Keeps measured times in the user's cache folder. Fails with code `input` where that cannot be
 * written.
 */
export const writeProfile = (profile: Profile): Outcome<void> => {
  const path = profilePath(profile)
  return pipe(
    TE.tryCatch(
      () => makeFolder(dirname(path)),
      (thrown) => inputFailure(`${dirname(path)}: cannot be made (${reasonOf(thrown)}); set XDG_CACHE_HOME to a folder that can be written`)
    ),
    TE.chain(() => writeFileAtomic(path, () => [Buffer.from(`${JSON.stringify(profile)}\n`)]))
  )
}
