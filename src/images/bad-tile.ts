import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { type ImageWindow, freePixels } from '../../native'
import type { Failure, Outcome } from '../failure'
import type { ReadWindow } from './read-window'
import type { Extent2 } from './resolution'

/** The end of a tile that is nearest to the middle of a span; undefined within one tile. */
const findMiddle = (from: number, count: number, tile: number): number | undefined => {
  const [first, last] = [Math.floor(from / tile) + 1, Math.ceil((from + count) / tile) - 1]
  const nearest = Math.round((from + count / 2) / tile)
  return first > last ? undefined : Math.min(last, Math.max(first, nearest)) * tile
}

/** A window in two, between tiles; undefined where it lies in one. */
const halve = (window: ImageWindow, tile: Extent2): readonly [ImageWindow, ImageWindow] | undefined => {
  const { top, left, height, width } = window
  const row = findMiddle(top, height, tile.height)
  if (row !== undefined)
    return [
      { ...window, height: row - top },
      { ...window, top: row, height: top + height - row }
    ]
  const column = findMiddle(left, width, tile.width)
  return column === undefined
    ? undefined
    : [
        { ...window, width: column - left },
        { ...window, left: column, width: left + width - column }
      ]
}

/**
 * The failure of a tile for which a window cannot be read, found by halves: it reads about as much
 * as the window has. Where no part fails by itself, that of the window.
 */
const failOfTile = (read: ReadWindow, window: ImageWindow, tile: Extent2, failure: Failure): Outcome<never> => {
  const halves = halve(window, tile)
  if (halves === undefined) return TE.left(failure)
  const failIn = (half: ImageWindow, otherwise: () => Outcome<never>): Outcome<never> =>
    pipe(
      read(half),
      TE.matchE(
        (found) => failOfTile(read, half, tile, found),
        (pixels) => {
          freePixels(pixels)
          return otherwise()
        }
      )
    )
  return failIn(halves[0], () => failIn(halves[1], () => TE.left(failure)))
}

/** The tiles that a window touches, as far as they lie in the image. */
export const wholeTiles = ({ top, left, height, width }: ImageWindow, tile: Extent2, image: Extent2): ImageWindow => {
  const span = (from: number, count: number, along: number, all: number): readonly [number, number] => {
    const start = Math.floor(from / along) * along
    return [start, Math.min(all, Math.ceil((from + count) / along) * along) - start]
  }
  const [[row, rows], [column, columns]] = [span(top, height, tile.height, image.height), span(left, width, tile.width, image.width)]
  return { top: row, left: column, height: rows, width: columns }
}

/** Reads windows; where one cannot be read, the failure is that of its first bad tile. */
export const namingTile =
  (read: ReadWindow, tile: Extent2): ReadWindow =>
  (window) =>
    TE.orElse((failure: Failure): Outcome<Uint8Array> =>
      failure.code === 'input' ? failOfTile(read, window, tile, failure) : TE.left(failure)
    )(read(window))
