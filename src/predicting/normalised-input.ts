import * as TE from 'fp-ts/TaskEither'
import type { Source } from '../../staging'
import type { Outcome } from '../failure'
import type { ImageSource } from '../images/image-source'
import { freePixels, type Numbers } from '../../native'
import type { Extent2 } from '../images/resolution'
import { type Reading, pixelBytes } from '../images/samples'
import { pipe } from 'fp-ts/function'
import { decodeInMemory } from './read-windows'

/** Pixels [rows, width, 3] from row `top` on. */
export type ReadRows = (top: number, rows: number) => Outcome<Uint8Array>

/** An image by rows: from its tiles, or views of the whole, which is decoded now. */
export const rowReader = (source: ImageSource, reading: Reading): Outcome<ReadRows> => {
  const { header, read } = source
  if (read === undefined) {
    const rowBytes = header.width * pixelBytes(header.samples)
    return TE.map(
      (pixels: Uint8Array): ReadRows =>
        (top, rows) =>
          TE.right(pixels.subarray(top * rowBytes, (top + rows) * rowBytes))
    )(decodeInMemory(source, reading, 'a heat map'))
  }
  return TE.right((top, rows) =>
    TE.map((given: Uint8Array) => {
      const own = new Uint8Array(given)
      freePixels(given)
      return own
    })(read({ top, left: 0, height: rows, width: header.width }))
  )
}

const rowsAtOnce = 256

/** Fills [1, 3, H, W] with an image's pixels, normalised as a step that loads it would. */
export const fillNormalised = ({ height, width }: Extent2, readRows: ReadRows, source: Source, values: Numbers): Outcome<void> => {
  if (source.kind !== 'image') throw new Error('only images are normalised')
  const { mean, deviation } = source
  const fill = (top: number): Outcome<void> =>
    pipe(
      readRows(top, Math.min(rowsAtOnce, height - top)),
      TE.map((pixels) => {
        const count = pixels.length / 3
        for (let channel = 0; channel < 3; channel += 1) {
          const plane = channel * height * width + top * width
          for (let index = 0; index < count; index += 1)
            values[plane + index] = (pixels[3 * index + channel]! / 255 - mean[channel]!) / deviation[channel]!
        }
      })
    )
  return pipe(
    Array.from({ length: Math.ceil(height / rowsAtOnce) }, (_, band) => band * rowsAtOnce),
    TE.traverseSeqArray(fill),
    TE.map(() => undefined)
  )
}
