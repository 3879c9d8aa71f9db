import { readFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { type FileLock, lockFile, unlockFile } from '../native'
import { type Failure, type Outcome, deviceFailure, inputFailure } from './failure'
import type { NamedPath } from './paths'
import { destinationOf, unwritable } from './whole-file'

/** What one training alone may write to. */
export interface Claimed extends NamedPath {
  /** Whether the path is a folder's, which exists; a file's lock lies beside it. */
  readonly isFolder?: true
}

const lockPath = async ({ path, isFolder }: Claimed): Promise<string> => {
  const destination = await destinationOf(path)
  return isFolder ? `${destination}/.lock` : `${destination}.lock`
}

const owner = (): string => `process ${process.pid} on ${hostname()}`

const taken = async ({ name, path }: Claimed, lock: string): Promise<Failure> => {
  const by = await readFile(lock, 'utf8').catch(() => '')
  return inputFailure(
    `${name} ${path}: another training writes there${by === '' ? '' : `, of ${by}`}; wait until it has ended, or name another place`
  )
}

const take = (claimed: Claimed, notice: (sentence: string) => void): Outcome<readonly FileLock[]> =>
  pipe(
    TE.tryCatch(() => lockPath(claimed), unwritable(claimed.path)),
    TE.chain((lock) =>
      pipe(
        TE.fromEither(E.mapLeft(deviceFailure)(lockFile(lock, owner()))),
        TE.chain((answer): Outcome<readonly FileLock[]> => {
          if (answer === 'held') return async () => E.left(await taken(claimed, lock))
          if (answer !== 'unsupported') return TE.right([answer])
          notice(`${claimed.name} ${claimed.path}: the file system knows no locks; see to it that no other training writes there`)
          return TE.right([])
        })
      )
    )
  )

/** Runs `use` while nobody else, in this process neither, holds any of these places; the locks of a process that is killed are free again. */
export const withLocks =
  <A>(places: readonly Claimed[], notice: (sentence: string) => void, use: Outcome<A>): Outcome<A> =>
  async () => {
    const held: FileLock[] = []
    try {
      for (const place of places) {
        const locked = await take(place, notice)()
        if (E.isLeft(locked)) return locked
        held.push(...locked.right)
      }
      return await use()
    } finally {
      held.forEach(unlockFile)
    }
  }
