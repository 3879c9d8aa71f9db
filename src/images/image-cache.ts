import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import type { Outcome } from '../failure'
import { type Extent2, type Picture, decodeImage, enlarged, mostInMemory, pictureBytes, readHeader } from './decode-image'
import { type ClassMap, decodeMask } from './masks'
import { freeBytes } from './mapped-image-file'

interface Cache<A> {
  readonly get: (path: string) => A | undefined
  /** Drops what must go before so many bytes more. */
  readonly makeRoom: (bytes: number) => void
  readonly put: (path: string, bytes: number, value: A) => void
}

/** Values by path, the least recently used dropped first when together they exceed `limitBytes`; one that is larger by itself is not held. */
const cacheOf = <A>(limitBytes: number): Cache<A> => {
  const held = new Map<string, { readonly bytes: number; readonly value: A }>()
  let heldBytes = 0
  const drop = (path: string): void => {
    heldBytes -= held.get(path)?.bytes ?? 0
    held.delete(path)
  }
  const makeRoom = (bytes: number): void => {
    // A Map iterates in order of insertion, so its first entry is the one used longest ago.
    for (const path of held.keys()) {
      if (heldBytes + bytes <= limitBytes) break
      drop(path)
    }
  }
  return {
    get: (path) => {
      const found = held.get(path)
      if (found === undefined) return undefined
      held.delete(path)
      held.set(path, found)
      return found.value
    },
    makeRoom,
    put: (path, bytes, value) => {
      if (bytes > limitBytes) return
      // Steps and what is loaded ahead of them may have asked for the same at once.
      drop(path)
      makeRoom(bytes)
      held.set(path, { bytes, value })
      heldBytes += bytes
    }
  }
}

/** Decoded masks by path, as large as their images. */
export const maskCache = (least: Extent2, limitBytes = mostInMemory): ((path: string) => Outcome<ClassMap>) => {
  const cache = cacheOf<ClassMap>(limitBytes)
  const decode = (path: string): Outcome<ClassMap> =>
    pipe(
      decodeMask(path, least),
      TE.chainFirstIOK((mask) => () => cache.put(path, mask.pixels.length, mask))
    )
  return (path) =>
    pipe(
      TE.fromIO(() => cache.get(path)),
      TE.chain((found) => (found === undefined ? decode(path) : TE.right(found)))
    )
}

/** Of the disk, or one image: what is dropped keeps its place until the next image has its own. */
const diskShare = 0.5

/** Decoded images by path, each at least so large; together up to `limitBytes` in memory, and those that are larger by themselves on disk. */
export const pictureCache = (least: Extent2, limitBytes = mostInMemory): ((path: string) => Outcome<Picture>) => {
  const inMemory = cacheOf<Picture>(limitBytes)
  let onDisk: Cache<Picture> | undefined
  const openDisk = (bytes: number): Outcome<Cache<Picture>> =>
    pipe(
      freeBytes,
      TE.map((free) => (onDisk ??= cacheOf(Math.max(bytes, diskShare * free))))
    )
  const decode = (path: string): Outcome<Picture> =>
    pipe(
      TE.Do,
      TE.bind('header', () => readHeader(path)),
      TE.bind('bytes', ({ header }) => pipe(TE.fromEither(enlarged(`the image ${path}`, header, least)), TE.map(pictureBytes))),
      TE.bind('cache', ({ bytes }) => (bytes <= limitBytes ? TE.right(inMemory) : openDisk(bytes))),
      TE.chainFirstIOK(
        ({ cache, bytes }) =>
          () =>
            cache.makeRoom(bytes)
      ),
      TE.bind('picture', () => decodeImage(path, least, limitBytes)),
      TE.chainFirstIOK(
        ({ cache, bytes, picture }) =>
          () =>
            cache.put(path, bytes, picture)
      ),
      TE.map(({ picture }) => picture)
    )
  return (path) =>
    pipe(
      TE.fromIO(() => inMemory.get(path) ?? onDisk?.get(path)),
      TE.chain((found) => (found === undefined ? decode(path) : TE.right(found)))
    )
}
