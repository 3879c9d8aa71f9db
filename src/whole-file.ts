import { open, rename, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import * as TE from 'fp-ts/TaskEither'
import { type Failure, type Outcome, inputFailure, reasonOf } from './failure'

const syncFolder = async (path: string): Promise<void> => {
  const folder = await open(path, 'r')
  await folder.sync().finally(() => folder.close())
}

const temporaryName = (path: string): string => `${path}.${process.pid}.tmp`

const unwritable =
  (path: string) =>
  (thrown: unknown): Failure =>
    inputFailure(`${path}: cannot be written (${reasonOf(thrown)})`)

/** A folder cannot be replaced by a file, and a device such as /dev/null must not be. */
const refuseSpecial = async (path: string): Promise<void> => {
  const found = await stat(path).catch(() => undefined)
  if (found !== undefined && !found.isFile()) throw new Error(found.isDirectory() ? 'it is a folder' : 'it is no ordinary file')
}

/** Whether `writeWhole` could write there now: asked before long work, so that its result is not lost. Leaves no trace. */
export const checkWritable = (path: string): Outcome<void> =>
  TE.tryCatch(async () => {
    await refuseSpecial(path)
    const file = await open(temporaryName(path), 'w')
    await file.close()
    await rm(temporaryName(path))
  }, unwritable(path))

/**
 * Writes a file whole or not at all: a temporary name in the same folder, flushed to disk, then renamed over `path`, so that a
 * crash at any moment leaves the old file or the new one. Parts are asked for as they are written.
 */
export const writeWhole = (path: string, parts: () => Iterable<Uint8Array>): Outcome<void> =>
  TE.tryCatch(async () => {
    const temporary = temporaryName(path)
    await refuseSpecial(path)
    try {
      const file = await open(temporary, 'w')
      try {
        for (const part of parts()) await file.writeFile(part)
        await file.sync()
      } finally {
        await file.close()
      }
      await rename(temporary, path)
    } catch (thrown) {
      await rm(temporary, { force: true })
      throw thrown
    }
    await syncFolder(dirname(path))
  }, unwritable(path))
