import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { type Outcome, inputFailure } from '../failure'
import { decodeImage } from '../images/decode-image'
import type { ImageSource } from '../images/image-source'
import type { ReadWindow } from '../images/image-windows'
import { type Reading, pixelBytes } from '../images/samples'

/**
 * Reads windows of an image: of its tiles, or of the whole, which is decoded now. Fails with one
 * sentence where the image has no tiles and is too large to be decoded in memory.
 */
export const openWindows = ({ path, header, read }: ImageSource, reading: Reading): Outcome<ReadWindow> =>
  read !== undefined
    ? TE.right(read)
    : pipe(
        decodeImage(path, { height: 1, width: 1 }, undefined, reading),
        TE.chain(({ pixels, width }) => {
          if (!(pixels instanceof Uint8Array))
            return TE.left(
              inputFailure(
                `the image ${path} is ${header.height}x${header.width} without tiles, too large for a heat map: store it as a tiled TIFF`
              )
            )
          const bytes = pixelBytes(header.samples)
          return TE.right<never, ReadWindow>((window) => {
            const cut = new Uint8Array(window.height * window.width * bytes)
            for (let row = 0; row < window.height; row += 1) {
              const from = ((window.top + row) * width + window.left) * bytes
              cut.set(pixels.subarray(from, from + window.width * bytes), row * window.width * bytes)
            }
            return TE.right(cut)
          })
        })
      )
