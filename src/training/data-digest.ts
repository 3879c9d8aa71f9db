import { createHash } from 'node:crypto'
import { open } from 'node:fs/promises'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import type { Outcome } from '../failure'
import type { Example } from '../images/dataset'
import { isMask } from '../images/labels'
import { inParallel } from '../tasks/in-parallel'

/** Bytes that are read of each file: all formats begin with what tells images apart. */
const startBytes = 4096

/** A file's length and its first bytes, as a hash. */
const digestFile = async (path: string): Promise<string> => {
  const file = await open(path, 'r')
  try {
    const start = Buffer.alloc(startBytes)
    const [{ size }, { bytesRead }] = await Promise.all([file.stat(), file.read(start, 0, startBytes, 0)])
    return createHash('sha256').update(`${size} `).update(start.subarray(0, bytesRead)).digest('hex')
  } finally {
    await file.close()
  }
}

/**
 * A hash of the lengths and first bytes of all files of images and masks, in their order: copies on
 * several machines are told apart by it without being read whole. A file that cannot be opened is
 * one like any other.
 */
export const digestData = (examples: readonly Example[], signal?: AbortSignal): Outcome<string> => {
  const paths = examples.flatMap(({ path, label, tissue }) => [
    path,
    ...(isMask(label) ? [label.path] : []),
    ...(tissue === undefined ? [] : [tissue])
  ])
  return pipe(
    inParallel(paths, (path) => digestFile(path).catch(() => 'unread'), signal),
    TE.map((digests) => createHash('sha256').update(digests.join()).digest('hex').slice(0, 12))
  )
}
