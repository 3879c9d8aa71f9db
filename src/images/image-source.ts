import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import type { Outcome } from '../failure'
import { type ImageHeader, readHeader } from './image-header'
import { type ReadWindow, windowReader } from './image-windows'
import { type Resolution, finest } from './resolution'

/** An image file at a resolution: what is known of it, and its pixels by window. */
export interface ImageSource {
  readonly path: string
  readonly header: ImageHeader
  readonly channels: 3
  readonly elementType: 'uint8'
  /** Absent where the file has no tiles at that level, and so is decoded whole. */
  readonly read?: ReadWindow
}

/** Opens PNG, JPEG, WebP and TIFF by what is in them; what is no ordinary file is refused. */
export const openImage = (path: string, resolution: Resolution = finest): Outcome<ImageSource> =>
  pipe(
    readHeader(path, resolution),
    TE.map((header) => {
      const read = windowReader(path, header)
      return { path, header, channels: 3, elementType: 'uint8', ...(read && { read }) }
    })
  )
