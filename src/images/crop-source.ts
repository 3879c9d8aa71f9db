import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import type { ImageWindow } from '../../native'
import { type Outcome, inputFailure } from '../failure'
import { decodeImage } from './decode-image'
import type { ImageSource } from './image-source'
import type { ReadWindow } from './image-windows'
import { type Reading, pixelBytes } from './samples'

/** The whole image in host memory, by window. */
const decodedReader = ({ path, header }: ImageSource, reading: Reading): Outcome<ReadWindow> =>
  pipe(
    decodeImage(path, { height: 1, width: 1 }, undefined, reading),
    TE.chain(({ pixels, width }) => {
      if (!(pixels instanceof Uint8Array))
        return TE.left(inputFailure(`the image ${path} is ${header.height}x${header.width} without tiles: store it as a tiled TIFF`))
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

/** A part of an image as an image of its own, read by window; the part lies within the image. */
export const cropSource = (source: ImageSource, reading: Reading, { top, left, height, width }: ImageWindow): Outcome<ImageSource> =>
  pipe(
    source.read === undefined ? decodedReader(source, reading) : TE.right(source.read),
    TE.map((read) => ({
      ...source,
      header: { ...source.header, height, width },
      read: (window) => read({ ...window, top: top + window.top, left: left + window.left })
    }))
  )
