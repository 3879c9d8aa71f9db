import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import type { Image } from '../../../native'
import { type Outcome, inputFailure } from '../../failure'
import type { Extent2 } from '../../images/resolution'
import { colours, pixelBytes } from '../../images/samples'
import { forEachTileWindow } from '../../images/tile-windows'
import { extentInImage } from '../../images/crop-placement'

/**
 * Reads all of a crop that a step reads while it runs, and lets it go, so that what is damaged is
 * found before the step; a crop that is in memory is there. Answers with the image.
 */
export const readThrough =
  (crop: Extent2) =>
  (image: Image): Outcome<Image> => {
    const { pixels, channels, elementType = colours.elementType, cropTop, cropLeft } = image
    if (!('readWindow' in pixels)) return TE.right(image)
    const { tile, readWindow } = pixels
    return pipe(
      forEachTileWindow(
        {
          ...extentInImage(crop, image),
          tile,
          pixelBytes: pixelBytes({ channels, elementType }),
          read: ({ top, left, height, width }) =>
            TE.mapLeft(({ message }: { readonly message: string }) => inputFailure(message))(
              readWindow({ top: top + cropTop, left: left + cropLeft, height, width })
            )
        },
        () => undefined
      ),
      TE.map(() => image)
    )
  }
