import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import type { ImageWindow } from '../../native'
import type { Outcome } from '../failure'
import type { ImageSource } from '../images/image-source'
import type { Reading } from '../images/samples'
import { openWindows } from './read-windows'

/** A part within an image as an image of its own, for its heat map, read by window. */
export const cropSource = (source: ImageSource, reading: Reading, { top, left, height, width }: ImageWindow): Outcome<ImageSource> =>
  pipe(
    openWindows(source, reading, 'the heat map of a crop'),
    TE.map((read) => ({
      ...source,
      header: { ...source.header, height, width },
      read: (window) => read({ ...window, top: top + window.top, left: left + window.left })
    }))
  )
