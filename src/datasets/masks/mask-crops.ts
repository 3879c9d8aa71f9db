import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { type ImageWindow, freePixels } from '../../../native'
import type { Outcome } from '../../failure'
import { windowBytes } from '../../images/tile-windows'
import type { ClassMap } from './masks'
import type { TiledMask } from './mask-windows'
import type { Extent2 } from '../../images/resolution'

/** The pixel of a mask that lies under the middle of an image's pixel. */
const nearest = (index: number, mask: number, image: number): number => Math.floor(((index + 0.5) * mask) / image)

const nearestIndices = (mask: number, image: number, from: number, count: number): readonly number[] =>
  Array.from({ length: count }, (_, index) => nearest(from + index, mask, image))

/**
 * A window of an image, in the classes of a mask that lies over the whole image, at whatever size.
 */
export const cutMask = (mask: ClassMap, image: Extent2, { top, left, height, width }: ImageWindow): ClassMap => {
  const [rows, columns] = [nearestIndices(mask.height, image.height, top, height), nearestIndices(mask.width, image.width, left, width)]
  const pixels = new Uint8Array(height * width)
  for (const [row, from] of rows.entries())
    for (const [column, at] of columns.entries()) pixels[row * width + column] = mask.pixels[from * mask.width + at]!
  return { pixels, height, width }
}

/**
 * A window of an image, in the classes of a mask that is read by window too, as many of its rows at
 * a time as its bytes allow.
 */
export const readMaskCut = (mask: TiledMask, image: Extent2, { top, left, height, width }: ImageWindow): Outcome<ClassMap> => {
  const columns = nearestIndices(mask.width, image.width, left, width)
  const [first, last] = [columns[0]!, columns[width - 1]!]
  const rowBytes = (last - first + 1) * Math.max(1, mask.height / image.height)
  const rowsAtOnce = Math.max(1, Math.floor(windowBytes / rowBytes))
  const pixels = new Uint8Array(height * width)
  const readBand = (from: number): Outcome<void> => {
    const rows = nearestIndices(mask.height, image.height, top + from, Math.min(rowsAtOnce, height - from))
    const window = { top: rows[0]!, left: first, height: rows.at(-1)! - rows[0]! + 1, width: last - first + 1 }
    return TE.map((values: Uint8Array) => {
      for (const [row, at] of rows.entries())
        for (const [column, place] of columns.entries())
          pixels[(from + row) * width + column] = values[(at - window.top) * window.width + place - first]!
      freePixels(values)
    })(mask.read(window))
  }
  return pipe(
    Array.from({ length: Math.ceil(height / rowsAtOnce) }, (_, band) => band * rowsAtOnce),
    TE.traverseSeqArray(readBand),
    TE.map(() => ({ pixels, height, width }))
  )
}
