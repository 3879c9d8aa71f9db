import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import type { Outcome } from './failure'
import { type Extent2, type Picture, decodeImage } from './images'

export const defaultCacheBytes = 2 ** 30

/**
 * Decoded images by path, the least recently used dropped first when together they exceed `limitBytes`. An image that is
 * larger than the limit by itself is decoded anew each time.
 */
export const pictureCache = (least: Extent2, limitBytes = defaultCacheBytes): ((path: string) => Outcome<Picture>) => {
  const held = new Map<string, Picture>()
  let heldBytes = 0
  const keep = (path: string, picture: Picture): void => {
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
      TE.chain((found) => (found === undefined ? decodeImage(path, least) : TE.right(found))),
      TE.chainFirstIOK((picture) => () => keep(path, picture))
    )
}
