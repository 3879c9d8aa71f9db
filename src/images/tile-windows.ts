import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { type ImageWindow, freePixels } from '../../native'
import type { Failure, Outcome } from '../failure'
import type { Extent2 } from './resolution'

/**
 * Bytes of a window that is read while a section runs, and of what goes through an image at a time.
 */
export const windowBytes = 2 ** 23

const cut = (whole: number, step: number): readonly (readonly [from: number, count: number])[] =>
  Array.from({ length: Math.ceil(whole / step) }, (_, index) => [index * step, Math.min(step, whole - index * step)])

/** A window in parts of so many rows and columns, but for the last ones, row by row. */
export const cutWindow = ({ top, left, height, width }: ImageWindow, step: Extent2): readonly ImageWindow[] =>
  cut(height, step.height).flatMap(([row, held]) =>
    cut(width, step.width).map(([column, across]) => ({ top: top + row, left: left + column, height: held, width: across }))
  )

/**
 * Windows of all of an image, from the top and the left, of whole tiles, so that each is decoded
 * once: rows of tiles, or else some tiles of one row, so many as `windowBytes` holds, but one.
 */
const tileWindows = ({ height, width }: Extent2, tile: Extent2, pixelBytes: number): readonly ImageWindow[] => {
  const most = windowBytes / (pixelBytes * tile.height)
  const rows = Math.max(1, Math.floor(most / width)) * tile.height
  const columns = most >= width ? width : Math.max(1, Math.floor(most / tile.width)) * tile.width
  return cutWindow({ top: 0, left: 0, height, width }, { height: rows, width: columns })
}

/** An image that is gone through by windows of its tiles. */
interface TiledPixels extends Extent2 {
  readonly tile: Extent2
  /** Bytes of a pixel. */
  readonly pixelBytes: number
  readonly read: (window: ImageWindow) => Outcome<Uint8Array>
}

/** Pixels along a part of a window that is read by itself, in whole tiles: at least so many. */
const leastPart = 256

/** A window in parts of a tile, or of several where they are small. */
const splitByTiles = (window: ImageWindow, tile: Extent2): readonly ImageWindow[] => {
  const step = (along: number): number => along * Math.ceil(leastPart / along)
  return cutWindow(window, { height: step(tile.height), width: step(tile.width) })
}

/**
 * Takes the pixels of each window of a whole image in turn, which are freed then. Where `passOver`
 * is given, a window that cannot be read is read again by its tiles, each as that says.
 */
export const forEachTileWindow = (
  { tile, pixelBytes, read, ...extent }: TiledPixels,
  take: (pixels: Uint8Array, window: ImageWindow) => void,
  passOver?: (read: Outcome<void>) => Outcome<void>
): Outcome<void> => {
  const takeFrom = (window: ImageWindow): Outcome<void> =>
    TE.map((pixels: Uint8Array) => {
      take(pixels, window)
      freePixels(pixels)
    })(read(window))
  const takeParts = (window: ImageWindow): Outcome<void> =>
    pipe(
      splitByTiles(window, tile),
      TE.traverseSeqArray((part) => passOver!(takeFrom(part))),
      TE.map(() => undefined)
    )
  return pipe(
    tileWindows(extent, tile, pixelBytes),
    TE.traverseSeqArray((window) =>
      passOver === undefined
        ? takeFrom(window)
        : TE.orElse((failure: Failure) => (failure.code === 'input' ? takeParts(window) : TE.left(failure)))(takeFrom(window))
    ),
    TE.map(() => undefined)
  )
}
