import { randomBytes, randomUUID } from 'node:crypto'
import { rmSync } from 'node:fs'
import { rm, statfs, truncate, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { type DiskBuffer, type MappedPixels, mapBuffer, mapPixels } from '../../native'
import { cacheFolder } from '../files/cache-folder'
import { type Failure, type Outcome, deviceFailure, inputFailure, errorReason } from '../failure'
import { makeFolder } from '../files/make-folder'
import { removeAbandoned } from '../files/atomic-write'

/**
 * Pixels on disk, in libvips' own format (*.v): a header, then rows of 8-bit samples as they are.
 */
export const headerBytes = 64

/** The header of one sample a pixel, grey. */
export const greyHeader = (height: number, width: number): Buffer => {
  const header = Buffer.alloc(headerBytes)
  const [magic, bands, bits, unsigned, plain, grey] = [0x08f2a6b6, 1, 8, 0, 0, 1]
  for (const [index, value] of [magic, width, height, bands, bits, unsigned, plain, grey].entries()) header.writeUInt32LE(value, 4 * index)
  for (const resolution of [32, 36]) header.writeFloatLE(1, resolution)
  return header
}

/** Machines, and containers, that share a cache folder number their processes alike. */
const name = `unpacked-${hostname()}`

const removeAbandonedFolders = (parent: string): Promise<void> => removeAbandoned(parent, (other) => other === name)

/**
 * Removes what processes that were killed have left unpacked; where that cannot be done it is no
 * matter.
 */
export const removeLeftovers = async (): Promise<void> => removeAbandonedFolders(cacheFolder()).catch(() => undefined)

const makeProcessFolder = async (parent: string): Promise<string> => {
  const folder = join(parent, `${name}.${process.pid}-${randomBytes(6).toString('hex')}.tmp`)
  await makeFolder(folder)
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  await removeAbandonedFolders(parent)
  return folder
}

const folders = new Map<string, Promise<string>>()

/**
 * The folder of this process, made when it is first asked for and removed when the process ends.
 */
const openFolder = (): Promise<string> => {
  const parent = cacheFolder()
  const folder = folders.get(parent) ?? makeProcessFolder(parent)
  folders.set(parent, folder)
  // What has failed may be tried again.
  return folder.catch((thrown: unknown) => {
    folders.delete(parent)
    throw thrown
  })
}

const cacheFailure = (thrown: unknown): Failure =>
  inputFailure(`${cacheFolder()}: cannot be used (${errorReason(thrown)}); set XDG_CACHE_HOME to a folder that can be written`)

const folder: Outcome<string> = TE.tryCatch(openFolder, cacheFailure)

/** Returns the free bytes where images are unpacked. */
export const freeBytes: Outcome<number> = pipe(
  folder,
  TE.chain((path) => TE.tryCatch(() => statfs(path), cacheFailure)),
  TE.map(({ bavail, bsize }) => bavail * bsize)
)

/** Lets `use` make and read a file *.v in the user's cache folder, and removes it. */
const withPixelFile = <A>(use: (file: string) => Outcome<A>): Outcome<A> =>
  TE.bracket(TE.map((path: string) => join(path, `${randomUUID()}.v`))(folder), use, (file) =>
    TE.tryCatch(() => rm(file, { force: true }), cacheFailure)
  )

/** Checks that so many bytes are free; `what` says of what they are. */
export const checkDiskSpace = (what: string, bytes: number): Outcome<number> =>
  pipe(
    freeBytes,
    TE.filterOrElse(
      (free) => free > bytes,
      (free) =>
        inputFailure(
          `${what} takes ${bytes} bytes when unpacked, but ${cacheFolder()} has ${free} free; make room there, or set XDG_CACHE_HOME to a folder that has it`
        )
    )
  )

/** `withFile`, where there is room. */
export const withDiskSpace = <A>(what: string, bytes: number, use: (file: string) => Outcome<A>): Outcome<A> =>
  pipe(
    checkDiskSpace(what, bytes),
    TE.chain(() => withPixelFile(use))
  )

/**
 * The pixels of such a file, which may be removed then: its place is free again when nothing refers
 * to them.
 */
export const mapPixelFile = (file: string, bytes: number): E.Either<Failure, MappedPixels> =>
  E.mapLeft(deviceFailure)(mapPixels(file, headerBytes, bytes))

/** A buffer on disk, its place free again when nothing refers to it; `what` says of what. */
export const diskBuffer = (what: string, bytes: number): Outcome<DiskBuffer> =>
  withDiskSpace(what, bytes, (file) =>
    pipe(
      TE.tryCatch(() => writeFile(file, ''), cacheFailure),
      TE.chainEitherK(() => E.mapLeft(deviceFailure)(mapBuffer(file, bytes)))
    )
  )

/** A file of `bytes` zeros, mapped; they take no place on disk. */
export const mapZeros = (bytes: number): Outcome<MappedPixels> =>
  withPixelFile((file) =>
    pipe(
      TE.tryCatch(async () => {
        await writeFile(file, '')
        await truncate(file, headerBytes + bytes)
      }, cacheFailure),
      TE.chainEitherK(() => mapPixelFile(file, bytes))
    )
  )
