import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import * as t from 'io-ts'
import { loadAddon } from '../addon/addon'
import { decodeAnswer, type DeviceError } from '../addon/error'
import { handleCodec } from '../addon/codecs'

declare const lock: unique symbol
/** A lock on a file, which the system gives back when its process ends, however it ends. */
export interface FileLock {
  readonly [lock]: true
}

const answer = t.union([handleCodec<FileLock>('lock'), t.literal('held'), t.literal('unsupported')], 'lock')

/**
 * Takes the lock of a file, which is made if need be and holds the text `owner` then; `held` where
 * another process, or another call in this one, has it, and `unsupported` where the file system
 * knows no locks.
 */
export const lockFile = (path: string, owner: string): E.Either<DeviceError, FileLock | 'held' | 'unsupported'> =>
  pipe(
    loadAddon(),
    E.chain((addon) => decodeAnswer(answer)(addon.lockFile({ path, owner })))
  )

/** Gives the lock back and removes the file. */
export const unlockFile = (held: FileLock): E.Either<DeviceError, void> =>
  pipe(
    loadAddon(),
    E.chain((addon) => decodeAnswer(t.void)(addon.unlockFile(held)))
  )
