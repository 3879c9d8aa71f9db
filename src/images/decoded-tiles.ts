import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import { type ImageWindow, freePixels } from '../../native'
import { wholeTiles } from './bad-tile'
import { makeCache } from './cache'
import type { ReadWindow } from './read-window'
import type { Extent2 } from './resolution'
import { cutWindow, windowBytes } from './tile-windows'

/** Bytes of tiles that are kept, of all images together: mostly two rows of an image's. */
export const keptTilesBytes = 2 ** 25

/** Tiles of all images that are open. */
const kept = makeCache<Uint8Array>(keptTilesBytes, freePixels)

/** Pixels of a window of an image, row by row. */
interface WindowPixels {
  readonly window: ImageWindow
  readonly pixels: Uint8Array
}

/** Copies what two windows share. */
const copyShared = (from: WindowPixels, to: WindowPixels, pixelBytes: number): void => {
  const top = Math.max(from.window.top, to.window.top)
  const left = Math.max(from.window.left, to.window.left)
  const bottom = Math.min(from.window.top + from.window.height, to.window.top + to.window.height)
  const right = Math.min(from.window.left + from.window.width, to.window.left + to.window.width)
  if (left >= right) return
  const at = ({ window }: WindowPixels, row: number): number => ((row - window.top) * window.width + left - window.left) * pixelBytes
  for (let row = top; row < bottom; row++)
    to.pixels.set(from.pixels.subarray(at(from, row), at(from, row) + (right - left) * pixelBytes), at(to, row))
}

/** The least window that holds some. */
const hull = (windows: readonly ImageWindow[]): ImageWindow => {
  const top = Math.min(...windows.map((one) => one.top))
  const left = Math.min(...windows.map((one) => one.left))
  const bottom = Math.max(...windows.map((one) => one.top + one.height))
  const right = Math.max(...windows.map((one) => one.left + one.width))
  return { top, left, height: bottom - top, width: right - left }
}

let readers = 0

/**
 * Reads windows as `read` does, but decodes a tile once for windows that follow each other: tiles
 * of a plan are smaller than a file's, or overlap. Windows of whole tiles are not kept, as they are
 * read where an image is gone through once.
 */
export const keepingTiles = (read: ReadWindow, tile: Extent2, image: Extent2, pixelBytes: number): ReadWindow => {
  const reader = readers++
  const nameOf = ({ top, left }: ImageWindow): string => `${reader} ${top} ${left}`
  return (window) => {
    const whole = wholeTiles(window, tile, image)
    const isWhole = whole.height === window.height && whole.width === window.width
    // Whole tiles of more bytes than a window may have are not kept.
    if (isWhole || whole.height * whole.width * pixelBytes > windowBytes) return read(window)
    return async () => {
      const into = { window, pixels: new Uint8Array(window.height * window.width * pixelBytes) }
      // Before anything is waited for: what is kept may be pushed out until then.
      const missing = cutWindow(whole, tile).filter((one) => {
        const pixels = kept.get(nameOf(one))
        if (pixels !== undefined) copyShared({ window: one, pixels }, into, pixelBytes)
        return pixels === undefined
      })
      if (missing.length === 0) return E.right(into.pixels)
      const wanted = hull(missing)
      return pipe(
        await read(wanted)(),
        E.map((pixels) => {
          const found = { window: wanted, pixels }
          for (const one of missing) {
            const part = { window: one, pixels: new Uint8Array(one.height * one.width * pixelBytes) }
            copyShared(found, part, pixelBytes)
            kept.put(nameOf(one), part.pixels.length, part.pixels)
          }
          copyShared(found, into, pixelBytes)
          freePixels(pixels)
          return into.pixels
        })
      )
    }
  }
}
