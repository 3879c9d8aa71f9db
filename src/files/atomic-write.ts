import { randomBytes } from 'node:crypto'
import type { Stats } from 'node:fs'
import { access, constants, open, readdir, readlink, realpath, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { type Failure, type Outcome, inputFailure, errorReason } from '../failure'
import { syncFile } from './sync-file'

/** Tells whether the process that a temporary name belongs to is still at work. */
const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code !== 'ESRCH'
  }
}

/**
 * Names of temporary files that this process is at work on. In a container the next process often
 * has the number of the one that was killed, so the number alone does not tell.
 */
const beingWritten = new Set<string>()

/** Names of temporary files; in folders of ours also without the random part. */
const temporaryName = /^(.*)\.(\d+)-[0-9a-f]{12}\.tmp$/
const temporaryNameOfOurs = /^(.*)\.(\d+)(?:-[0-9a-f]+)?\.tmp$/

/**
 * Removes what processes that were killed while they wrote left in a folder, under the temporary
 * names of files that are `ours`.
 */
export const removeAbandoned = async (folder: string, ours: (name: string) => boolean, temporary = temporaryNameOfOurs): Promise<void> => {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const [, name, pid] = temporary.exec(entry.name) ?? []
    if (name === undefined || !ours(name)) continue
    // A folder of this process may be another thread's.
    const isInUse = Number(pid) === process.pid && entry.isFile() ? beingWritten.has(entry.name) : isAlive(Number(pid))
    if (!isInUse) await rm(join(folder, entry.name), { recursive: true, force: true })
  }
}

const syncFolder = async (path: string): Promise<void> => {
  const folder = await open(path, 'r')
  await syncFile(folder).finally(() => folder.close())
}

/** The failure, of code `input`, of a file or folder that cannot be written. */
export const writeFailure =
  (path: string) =>
  (thrown: unknown): Failure =>
    inputFailure(`${path}: cannot be written (${errorReason(thrown)})`)

/** Returns the file that a path leads to, links followed, whether or not it exists. */
export const resolveDestination = async (path: string): Promise<string> => {
  if (path === '') throw new Error('the path is empty')
  try {
    return await realpath(path)
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== 'ENOENT') throw thrown
    const folder = await realpath(dirname(path))
    const linked = await readlink(path).catch(() => undefined)
    return linked === undefined ? join(folder, basename(path)) : resolveDestination(resolve(folder, linked))
  }
}

/**
 * The file that would be replaced at a path; undefined where there is none. A folder cannot be
 * replaced by a file, and a device such as /dev/null must not be.
 */
export const findReplaced = async (path: string): Promise<Stats | undefined> => {
  const found = await stat(path).catch(() => undefined)
  if (found === undefined) return undefined
  if (!found.isFile()) throw new Error(found.isDirectory() ? 'it is a folder' : 'it is no ordinary file')
  await access(path, constants.W_OK)
  return found
}

/**
 * Lets `use` have a new file beside the one that it will replace, under a name of its own, which is
 * free again then. Nobody else may read it before it has the mode that it will keep.
 */
const withTemporary = async (
  destination: string,
  replaced: Stats | undefined,
  use: (temporary: string) => Promise<void>
): Promise<void> => {
  const temporary = `${destination}.${process.pid}-${randomBytes(6).toString('hex')}.tmp`
  beingWritten.add(basename(temporary))
  try {
    const file = await open(temporary, 'wx', replaced === undefined ? 0o666 : 0o600)
    await file.close()
    await use(temporary)
  } finally {
    await rm(temporary, { force: true })
    beingWritten.delete(basename(temporary))
  }
}

/**
 * Checks that `writeFileAtomic` could write there now: asked before long work, so that its result
 * is not lost. Leaves no trace.
 */
export const checkCanWrite = (path: string): Outcome<void> =>
  TE.tryCatch(async () => {
    const destination = await resolveDestination(path)
    await withTemporary(destination, await findReplaced(destination), () => Promise.resolve())
  }, writeFailure(path))

/** Removes what processes that were killed while they wrote files have left beside them. */
export const removeTraces = (paths: readonly string[]): Outcome<void> => {
  /** Names by folder: of many files in one, it is listed once. */
  const names = new Map<string, Set<string>>()
  const note = (path: string): Outcome<void> =>
    TE.tryCatch(async () => {
      const destination = await resolveDestination(path)
      const folder = dirname(destination)
      names.set(folder, (names.get(folder) ?? new Set()).add(basename(destination)))
    }, writeFailure(path))
  const remove = ([folder, own]: readonly [string, ReadonlySet<string>]): Outcome<void> =>
    TE.tryCatch(() => removeAbandoned(folder, (name) => own.has(name), temporaryName), writeFailure(folder))
  return pipe(
    TE.traverseSeqArray(note)(paths),
    TE.chain(() => TE.traverseSeqArray(remove)([...names])),
    TE.map(() => undefined)
  )
}

/**
 * Sees that files can be written, and removes what killed processes left beside them: where nobody
 * else can be writing.
 */
export const checkAllWritable = (paths: readonly string[]): Outcome<void> =>
  pipe(
    TE.traverseSeqArray(checkCanWrite)(paths),
    TE.chain(() => removeTraces(paths))
  )

/** As `checkAllWritable`, of one file. */
export const checkWritable = (path: string): Outcome<void> => checkAllWritable([path])

/**
 * Flushes the file, and gives it the mode, and as far as that is allowed the owner, of the one that
 * it replaces.
 */
const complete = async (temporary: string, replaced: Stats | undefined): Promise<void> => {
  const file = await open(temporary, 'r+')
  try {
    if (replaced !== undefined) {
      await file.chown(replaced.uid, replaced.gid).catch(() => undefined)
      await file.chmod(replaced.mode & 0o7777)
    }
    await syncFile(file)
  } finally {
    await file.close()
  }
}

/**
 * Lets `write` fill a file under a temporary name in the same folder, flushes it to disk and
 * renames it over `path`, so that a crash at any moment leaves the old file or the new one. A link
 * stays one, and what it leads to is replaced.
 */
export const replaceFileAtomic = (path: string, write: (temporary: string) => Promise<void>): Outcome<void> =>
  TE.tryCatch(async () => {
    const destination = await resolveDestination(path)
    const replaced = await findReplaced(destination)
    await withTemporary(destination, replaced, async (temporary) => {
      await write(temporary)
      await complete(temporary, replaced)
      await rename(temporary, destination)
    })
    await syncFolder(dirname(destination))
  }, writeFailure(path))

/** Writes a file whole or not at all. Parts are asked for as they are written. */
export const writeFileAtomic = (path: string, parts: () => Iterable<Uint8Array>): Outcome<void> =>
  replaceFileAtomic(path, async (temporary) => {
    const file = await open(temporary, 'w')
    try {
      for (const part of parts()) await file.writeFile(part)
    } finally {
      await file.close()
    }
  })
