import { readFile } from 'node:fs/promises'
import { setTimeout } from 'node:timers/promises'
import * as E from 'fp-ts/Either'
import { lockFile, unlockFile } from '../../native'
import { lockOwner } from './write-locks'

const waitMilliseconds = 200

/** Who is told of a wait, and what ends it. */
export interface Waiting {
  readonly onWait?: (owner: string) => void
  readonly signal?: AbortSignal | undefined
}

/**
 * Runs `use` while nobody else, in this process neither, holds the lock of the file `lock`, which
 * is removed again. Waits until it is free, and tells `onWait` once who holds it: empty where that
 * is not known. Where the file system knows no locks, `use` runs without. Throws where the file
 * cannot be made, or the signal is aborted meanwhile.
 */
export const withExclusiveUse = async <A>(lock: string, use: () => Promise<A>, { onWait, signal }: Waiting = {}): Promise<A> => {
  for (let attempt = 0; ; attempt += 1) {
    const answer = lockFile(lock, lockOwner())
    if (E.isLeft(answer)) throw new Error(answer.left.message)
    const held = answer.right
    if (held === 'unsupported') return use()
    if (held !== 'held')
      try {
        return await use()
      } finally {
        unlockFile(held)
      }
    if (attempt === 0) onWait?.(await readFile(lock, 'utf8').catch(() => ''))
    await setTimeout(waitMilliseconds, undefined, { signal })
  }
}
