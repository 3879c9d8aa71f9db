import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import type { Outcome } from '../failure'
import { type DecodedImage, decodeImage, computeUpscaledExtent, maxBytesInMemory, decodedBytes } from '../images/decode-image'
import { ignoredLabel } from './class-list'
import { readHeader } from '../images/image-header'
import { tap } from '../tasks/tap'
import { openAnnotations } from './annotations/inspect-annotations'
import { type Cache, makeCache } from '../images/cache'
import { type ClassMap, type Mask, decodeMask } from './masks/masks'
import { freeBytes } from '../images/mapped-image-file'
import { type PolygonMap, polygonBytes } from './annotations/paint-polygons'
import { type Extent2, extentText, finest } from '../images/resolution'
import type { Reading } from '../images/samples'

/** Decoded masks by path. */
export const maskCache = (): ((path: string) => Outcome<ClassMap>) => {
  const cache = makeCache<ClassMap>(maxBytesInMemory)
  const decode = (path: string): Outcome<ClassMap> =>
    pipe(
      decodeMask(path),
      tap((mask) => cache.put(path, mask.pixels.length, mask))
    )
  return (path) => async () => {
    const found = cache.get(path)
    return found === undefined ? decode(path)() : E.right(found)
  }
}

/** Bytes of polygons that are held. */
const maxPolygonBytes = 2 ** 28

/** Polygons over images, by the path of their file. */
export const annotationCache = (): ((mask: Mask) => Outcome<PolygonMap>) => {
  const cache = makeCache<PolygonMap>(maxPolygonBytes)
  return (mask) => async () => {
    const key = `${mask.path} ${extentText(mask)}`
    const found = cache.get(key)
    if (found !== undefined) return E.right(found)
    return pipe(
      openAnnotations(mask.path, mask, mask.annotation ?? { aliases: [], outside: ignoredLabel }),
      tap((map) => cache.put(key, polygonBytes(map), map))
    )()
  }
}

/**
 * The share of the disk that images take, or one image: what is dropped keeps its place until the
 * next image has its own.
 */
const diskShare = 0.5

/**
 * Decoded images by path, each at least so large; together up to `limitBytes` in memory, and those
 * that are larger by themselves on disk, or one of them where bands are read as they are stored.
 */
export const imageCache = (
  least: Extent2,
  limitBytes = maxBytesInMemory,
  reading: Reading = finest
): ((path: string) => Outcome<DecodedImage>) => {
  const inMemory = makeCache<DecodedImage>(limitBytes)
  let onDisk: Cache<DecodedImage> | undefined
  let oneLarge: Cache<DecodedImage> | undefined
  const openDisk = (bytes: number): Outcome<Cache<DecodedImage>> =>
    pipe(
      freeBytes,
      TE.map((free) => (onDisk ??= makeCache(Math.max(bytes, diskShare * free))))
    )
  const measure = (path: string): Outcome<{ readonly bytes: number; readonly isStored: boolean }> =>
    pipe(
      readHeader(path, reading),
      TE.chainEitherK((header) =>
        pipe(
          computeUpscaledExtent(`the image ${path}`, header, least),
          E.map((extent) => ({ bytes: decodedBytes(extent, header.samples), isStored: header.samples.bands !== undefined }))
        )
      )
    )
  const decodeInto = (cache: Cache<DecodedImage>, path: string, bytes: number): Outcome<DecodedImage> => {
    cache.makeRoom(bytes)
    return pipe(
      decodeImage(path, least, limitBytes, reading),
      tap((image) => cache.put(path, bytes, image))
    )
  }
  const decode = (path: string): Outcome<DecodedImage> =>
    pipe(
      measure(path),
      TE.bind('cache', ({ bytes, isStored }) => {
        if (bytes <= limitBytes) return TE.right(inMemory)
        return isStored ? TE.right((oneLarge = makeCache(bytes))) : openDisk(bytes)
      }),
      TE.chain(({ cache, bytes }) => decodeInto(cache, path, bytes))
    )
  return (path) => async () => {
    const found = inMemory.get(path) ?? onDisk?.get(path) ?? oneLarge?.get(path)
    return found === undefined ? decode(path)() : E.right(found)
  }
}
