import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { type Outcome, inputFailure } from '../failure'
import { decodeImage } from '../images/decode-image'
import type { ImageSource } from '../images/image-source'
import type { ReadWindow } from '../images/read-window'
import { type Reading, pixelBytes } from '../images/samples'

/**
 * Decodes the pixels [height, width, channels] of an image without tiles. Fails with one sentence
 * where they are too large for memory; `what` says for what they are read.
 */
export const decodeInMemory = ({ path, header }: ImageSource, reading: Reading, what: string): Outcome<Uint8Array> =>
  pipe(
    decodeImage(path, { height: 1, width: 1 }, undefined, reading),
    TE.chain(({ pixels }) =>
      pixels instanceof Uint8Array
        ? TE.right(pixels)
        : TE.left(
            inputFailure(
              `the image ${path} is ${header.height}x${header.width} without tiles, too large for ${what}: store it as a tiled TIFF`
            )
          )
    )
  )

/** Reads windows of an image: of its tiles, or as `decodeInMemory` of the whole. */
export const openWindows = (source: ImageSource, reading: Reading, what: string): Outcome<ReadWindow> => {
  const { header, read } = source
  if (read !== undefined) return TE.right(read)
  const bytes = pixelBytes(header.samples)
  return TE.map((pixels: Uint8Array): ReadWindow => ({ top, left, height, width }) => {
    const cut = new Uint8Array(height * width * bytes)
    for (let row = 0; row < height; row += 1) {
      const from = ((top + row) * header.width + left) * bytes
      cut.set(pixels.subarray(from, from + width * bytes), row * width * bytes)
    }
    return TE.right(cut)
  })(decodeInMemory(source, reading, what))
}
