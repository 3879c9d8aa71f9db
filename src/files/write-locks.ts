import { readFile, stat } from 'node:fs/promises'
import { hostname } from 'node:os'
import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { type DeviceError, type FileLock, lockFile, unlockFile } from '../../native'
import { type Failure, type Outcome, deviceFailure, inputFailure } from '../failure'
import type { NamedPath } from './paths'
import { resolveDestination, writeFailure } from './atomic-write'

/** A place that one training alone may write to. */
export interface Claimed extends NamedPath {
  /** True if the path is a folder's, which exists; a file's lock lies beside it. */
  readonly isFolder?: true
}

const lockPath = async ({ path, isFolder }: Claimed): Promise<string> => {
  const destination = await resolveDestination(path)
  return isFolder ? `${destination}/.lock` : `${destination}.lock`
}

/** The files of their locks, as far as there can be any. */
export const findLocks = async (places: readonly Claimed[]): Promise<readonly NamedPath[]> => {
  const locks = await Promise.all(places.map((place) => lockPath(place).catch(() => undefined)))
  return locks.flatMap((path, index) => (path === undefined ? [] : [{ name: `the lock of ${places[index]!.name}`, path }]))
}

/** The text of a lock's file; empty where its owner was killed before it could write. */
const lockText = /^(process \d+ on .+)?$/
const longestText = 1000

/**
 * Returns why a file that has a lock's name is somebody else's; undefined where it is ours, or none
 * is there.
 */
const findForeign = async (lock: string): Promise<string | undefined> => {
  const found = await stat(lock).catch(() => undefined)
  if (found === undefined) return undefined
  if (!found.isFile()) return 'is no ordinary file'
  return found.size <= longestText && lockText.test(await readFile(lock, 'utf8')) ? undefined : 'holds something else'
}

/** A lock is written over what has its name, and removed. */
const checkOwnLock = ({ name, path }: Claimed, lock: string): Outcome<void> =>
  pipe(
    TE.tryCatch(() => findForeign(lock), writeFailure(lock)),
    TE.chainEitherK((fault) =>
      fault === undefined
        ? E.right(undefined)
        : E.left(inputFailure(`${name} ${path}: its lock would be ${lock}, which ${fault}: name another place, or move that file`))
    )
  )

/** What the file of a lock says of its owner: this process. */
export const lockOwner = (): string => `process ${process.pid} on ${hostname()}`

const heldFailure = async ({ name, path }: Claimed, lock: string): Promise<Failure> => {
  const by = await readFile(lock, 'utf8').catch(() => '')
  return inputFailure(
    `${name} ${path}: another training writes there${by === '' ? '' : `, of ${by}`}; wait until it has ended, or name another place`
  )
}

/** What the addon says of a lock's file is of a disk, not of a device. */
const lockFailure = (error: DeviceError): Failure => (error.code === 'device' ? inputFailure(error.message) : deviceFailure(error))

const acquire = (claimed: Claimed, notice: (sentence: string) => void): Outcome<readonly FileLock[]> =>
  pipe(
    TE.tryCatch(() => lockPath(claimed), writeFailure(claimed.path)),
    TE.chainFirst((lock) => checkOwnLock(claimed, lock)),
    TE.chain((lock) =>
      pipe(
        TE.fromEither(E.mapLeft(lockFailure)(lockFile(lock, lockOwner()))),
        TE.chain((answer): Outcome<readonly FileLock[]> => {
          if (answer === 'held') return async () => E.left(await heldFailure(claimed, lock))
          if (answer !== 'unsupported') return TE.right([answer])
          notice(`${claimed.name} ${claimed.path}: the file system knows no locks; see to it that no other training writes there`)
          return TE.right([])
        })
      )
    )
  )

/**
 * Runs `use` while nobody else, in this process neither, holds any of these places; the locks of a
 * process that is killed are free again.
 */
export const withLocks =
  <A>(places: readonly Claimed[], notice: (sentence: string) => void, use: Outcome<A>): Outcome<A> =>
  async () => {
    const held: FileLock[] = []
    try {
      for (const place of places) {
        const locked = await acquire(place, notice)()
        if (E.isLeft(locked)) return locked
        held.push(...locked.right)
      }
      return await use()
    } finally {
      held.forEach(unlockFile)
    }
  }
