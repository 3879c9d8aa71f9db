import { realpath, stat } from 'node:fs/promises'
import { basename, dirname, join, resolve, sep } from 'node:path'
import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { type Failure, type Outcome, inputFailure } from '../failure'
import { inParallel } from '../tasks/in-parallel'
import { resolveDestination } from './atomic-write'

/** A path and what names it: an option, or words. */
export interface NamedPath {
  readonly name: string
  readonly path: string
}

interface Paths {
  readonly reads: readonly NamedPath[]
  readonly writes: readonly NamedPath[]
}

/** The path of an option that may be left out, or hold something else. */
export const namedPaths = (name: string, path: unknown): readonly NamedPath[] => (typeof path === 'string' ? [{ name, path }] : [])

/**
 * The identity of a file, which all its names have in common, hard links included; undefined where
 * there is none.
 */
const fileAt = (path: string): Promise<string | undefined> =>
  stat(path, { bigint: true }).then(
    ({ dev, ino }) => `${dev}:${ino}`,
    () => undefined
  )

interface Written extends NamedPath {
  readonly isThere: boolean
  /**
   * The identity of the file; where none is there, names that some file systems would not tell
   * apart have the same.
   */
  readonly identity: string
}

const identify = async (one: NamedPath): Promise<Written> => {
  const found = await fileAt(one.path)
  if (found !== undefined) return { ...one, isThere: true, identity: found }
  const destination = await resolveDestination(one.path).catch(() => resolve(one.path))
  const folder = (await fileAt(dirname(destination))) ?? dirname(destination)
  return { ...one, isThere: false, identity: `${folder}/${basename(destination).normalize().toLowerCase()}` }
}

const clashFailure = (written: NamedPath, other: NamedPath): E.Either<Failure, never> =>
  E.left(inputFailure(`${written.name} ${written.path} would be written over ${other.name} ${other.path}: name another file`))

const checkWrites = (written: readonly Written[]): E.Either<Failure, void> => {
  const seen = new Map<string, Written>()
  for (const one of written) {
    const before = seen.get(one.identity)
    if (before !== undefined) return clashFailure(one, before)
    seen.set(one.identity, one)
  }
  return E.right(undefined)
}

/** Files that are there are looked at only where something that is there would be written over. */
const checkReads = (written: readonly Written[], reads: readonly NamedPath[], signal: AbortSignal | undefined): Outcome<void> => {
  const there = new Map(written.flatMap((one) => (one.isThere ? [[one.identity, one] as const] : [])))
  if (there.size === 0) return TE.right(undefined)
  return pipe(
    inParallel(reads, ({ path }) => fileAt(path), signal),
    TE.chainEitherK((found) => {
      const index = found.findIndex((identity) => identity !== undefined && there.has(identity))
      return index === -1 ? E.right(undefined) : clashFailure(there.get(found[index]!)!, reads[index]!)
    })
  )
}

/**
 * Refuses, before anything is written, files that would be written over what is read or over each
 * other.
 */
export const checkPaths = ({ reads, writes }: Paths, signal?: AbortSignal): Outcome<void> => {
  return pipe(
    inParallel(writes, identify, signal),
    TE.chainFirstEitherK(checkWrites),
    TE.chain((written) => checkReads(written, reads, signal))
  )
}

/** Links followed as far as there is something. */
const resolveLinks = (path: string): Promise<string> =>
  realpath(path).catch(async () => (dirname(path) === path ? path : join(await resolveLinks(dirname(path)), basename(path))))

/**
 * Tells whether a path, of something or of nothing yet, lies in a folder, at any depth, or is it.
 */
export const isInside = async (path: string, folder: string): Promise<boolean> => {
  const [inner, outer] = await Promise.all([resolveLinks(resolve(path)), resolveLinks(resolve(folder))])
  return inner === outer || inner.startsWith(outer.endsWith(sep) ? outer : `${outer}${sep}`)
}
