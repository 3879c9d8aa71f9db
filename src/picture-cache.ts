import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import type { Outcome } from './failure'
import { type Extent2, type Picture, decodeImage } from './images'
import { type ClassMap, decodeMask } from './masks'

export const defaultCacheBytes = 2 ** 30

/**
 * What `decode` makes of paths, the least recently used dropped first when together they exceed `limitBytes`. One that is larger than
 * the limit by itself is decoded anew each time.
 */
const cached = <A extends { readonly pixels: Uint8Array }>(
  decode: (path: string) => Outcome<A>,
  limitBytes: number
): ((path: string) => Outcome<A>) => {
  const held = new Map<string, A>()
  let heldBytes = 0
  const keep = (path: string, picture: A): void => {
    const previous = held.get(path)
    if (previous !== undefined) heldBytes -= previous.pixels.length
    held.delete(path)
    if (picture.pixels.length > limitBytes) return
    held.set(path, picture)
    heldBytes += picture.pixels.length
    // A Map iterates in order of insertion, so its first entry is the one used longest ago.
    for (const [oldest, { pixels }] of held) {
      if (heldBytes <= limitBytes) break
      held.delete(oldest)
      heldBytes -= pixels.length
    }
  }
  return (path) =>
    pipe(
      TE.fromIO(() => held.get(path)),
      TE.chain((found) => (found === undefined ? decode(path) : TE.right(found))),
      TE.chainFirstIOK((picture) => () => keep(path, picture))
    )
}

/** Decoded images by path, each at least so large. */
export const pictureCache = (least: Extent2, limitBytes = defaultCacheBytes): ((path: string) => Outcome<Picture>) =>
  cached((path) => decodeImage(path, least), limitBytes)

/** Decoded masks by path, as large as their images. */
export const maskCache = (least: Extent2, limitBytes = defaultCacheBytes): ((path: string) => Outcome<ClassMap>) =>
  cached((path) => decodeMask(path, least), limitBytes)
