import { createHash } from 'node:crypto'
import { stat } from 'node:fs/promises'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import type { Outcome } from '../../failure'
import { readFileStart } from '../../images/file-start'
import { inParallel } from '../../tasks/in-parallel'
import { listDataFiles } from '../check-files'
import type { Split } from '../validation/validation-split'

/** Bytes that are read of each file: all formats begin with what tells images apart. */
const startBytes = 4096

/** A file's length and its first bytes, as a hash. */
const digestFile = async (path: string): Promise<string> => {
  const [{ size }, start] = await Promise.all([stat(path), readFileStart(path, startBytes)])
  return createHash('sha256').update(`${size} `).update(start).digest('hex')
}

/**
 * A hash of the lengths and first bytes of all files of images and masks, in their order: copies on
 * several machines are told apart by it without being read whole. A file that cannot be opened is
 * one like any other.
 */
export const digestData = (split: Split, signal?: AbortSignal): Outcome<string> =>
  pipe(
    inParallel(listDataFiles(split), ({ path }) => digestFile(path).catch(() => 'unread'), signal),
    TE.map((digests) => createHash('sha256').update(digests.join()).digest('hex').slice(0, 12))
  )
