import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import type { PixelType } from '../../native'
import type { Outcome } from '../failure'
import { type ImageHeader, readHeader } from './image-header'
import { windowReader } from './image-windows'
import type { ReadWindow } from './read-window'
import { finest } from './resolution'
import type { Reading } from './samples'

/** An image file at a resolution: what is known of it, and its pixels by window. */
export interface ImageSource {
  readonly path: string
  readonly header: ImageHeader
  readonly channels: number
  readonly elementType: PixelType
  /** Absent where the file has no tiles at that level, and so is decoded whole. */
  readonly read?: ReadWindow
}

/** Opens PNG, JPEG, WebP and TIFF by what is in them; what is no ordinary file is refused. */
export const openImage = (path: string, reading: Reading = finest): Outcome<ImageSource> =>
  pipe(
    readHeader(path, reading),
    TE.map((header) => {
      const read = windowReader(path, header)
      const { channels, elementType } = header.samples
      return { path, header, channels, elementType, ...(read && { read }) }
    })
  )
