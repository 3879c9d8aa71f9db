import { open, readdir, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import * as TE from 'fp-ts/TaskEither'
import { type Failure, type Outcome, inputFailure, reasonOf } from './failure'

const temporaryName = (path: string): string => `${path}.${process.pid}.tmp`

/** Whether the process that a temporary name belongs to is still at work. */
const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code !== 'ESRCH'
  }
}

/** Removes what processes that were killed while they wrote left in a folder, under the temporary names of files that are `ours`. */
export const removeAbandoned = async (folder: string, ours: (name: string) => boolean): Promise<void> => {
  for (const entry of await readdir(folder)) {
    const [, name, pid] = /^(.*)\.(\d+)\.tmp$/.exec(entry) ?? []
    if (name !== undefined && ours(name) && !isAlive(Number(pid))) await rm(join(folder, entry), { recursive: true, force: true })
  }
}

export const syncFolder = async (path: string): Promise<void> => {
  const folder = await open(path, 'r')
  await folder.sync().finally(() => folder.close())
}

export const unwritable =
  (path: string) =>
  (thrown: unknown): Failure =>
    inputFailure(`${path}: cannot be written (${reasonOf(thrown)})`)

/** A folder cannot be replaced by a file, and a device such as /dev/null must not be. */
export const refuseSpecial = async (path: string): Promise<void> => {
  const found = await stat(path).catch(() => undefined)
  if (found !== undefined && !found.isFile()) throw new Error(found.isDirectory() ? 'it is a folder' : 'it is no ordinary file')
}

/** Whether `writeWhole` could write there now: asked before long work, so that its result is not lost. Leaves no trace, and removes those of
 * processes that were killed while they wrote there. */
export const checkWritable = (path: string): Outcome<void> =>
  TE.tryCatch(async () => {
    await refuseSpecial(path)
    const file = await open(temporaryName(path), 'w')
    await file.close()
    await rm(temporaryName(path))
    await removeAbandoned(dirname(path), (name) => name === basename(path))
  }, unwritable(path))

/**
 * Lets `write` fill a file under a temporary name in the same folder, flushes it to disk and renames it over `path`, so that a crash at
 * any moment leaves the old file or the new one.
 */
export const replaceWhole = (path: string, write: (temporary: string) => Promise<void>): Outcome<void> =>
  TE.tryCatch(async () => {
    const temporary = temporaryName(path)
    await refuseSpecial(path)
    try {
      await write(temporary)
      const file = await open(temporary, 'r+')
      await file.sync().finally(() => file.close())
      await rename(temporary, path)
    } catch (thrown) {
      await rm(temporary, { force: true })
      throw thrown
    }
    await syncFolder(dirname(path))
  }, unwritable(path))

/** Writes a file whole or not at all. Parts are asked for as they are written. */
export const writeWhole = (path: string, parts: () => Iterable<Uint8Array>): Outcome<void> =>
  replaceWhole(path, async (temporary) => {
    const file = await open(temporary, 'w')
    try {
      for (const part of parts()) await file.writeFile(part)
    } finally {
      await file.close()
    }
  })
