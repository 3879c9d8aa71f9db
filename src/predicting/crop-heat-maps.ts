import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import type { Outcome } from '../failure'
import { centreCrop } from '../images/crop-placement'
import { type ImageSource, openImage } from '../images/image-source'
import type { Extent2 } from '../images/resolution'
import { type Reading, isRgb } from '../images/samples'
import { overlayRows } from '../results/overlay'
import type { SeenCrop } from '../images/seen-crop'
import { cropSource } from './crop-source'
import { type HeatMapRequest, brightestValue, computeHeatMap } from './heat-map'
import { readInput } from './input'
import { rowReader } from './normalised-input'

/** Whose heat maps are drawn, over crops from the middle of their images. */
export interface CropHeatMapRequest extends Omit<HeatMapRequest, 'input' | 'readRows' | 'of'> {
  readonly crop: Extent2
  readonly reading: Reading
}

/** The heat map of the class that the network says, over the small picture of a crop. */
const withHeatMap =
  ({ crop, reading, ...request }: CropHeatMapRequest) =>
  (seen: SeenCrop): Outcome<SeenCrop> => {
    const { name, rgb, predictedClass } = seen
    if (predictedClass === undefined) return TE.right(seen)
    const draw = (source: ImageSource): Outcome<SeenCrop> =>
      pipe(
        TE.Do,
        TE.bind('input', () => readInput(source, reading)),
        TE.bind('readRows', () => rowReader(source, reading)),
        TE.chain(({ input, readRows }) =>
          computeHeatMap({ ...request, setup: withoutPlan(request.setup), of: `${predictedClass}`, input, readRows })
        ),
        TE.chainTaskK((map) => async () => {
          const drawn = overlayRows({ ...seen, read: () => Promise.resolve(rgb) }, map, brightestValue(map, request.kind))
          return { ...seen, heatMap: await drawn.rows(0, seen.height) }
        })
      )
    return pipe(
      openImage(name, reading),
      TE.chain((whole) => {
        const { cropTop: top, cropLeft: left } = centreCrop(crop)(whole.header)
        // An image that is smaller than the crop was made larger for it.
        return !isRgb(whole) || top < 0 || left < 0 ? TE.right(seen) : TE.chain(draw)(cropSource(whole, reading, { top, left, ...crop }))
      })
    )
  }

/** Another network than the one that was trained runs, which has a plan of its own. */
const withoutPlan = ({ plan: _, ...setup }: HeatMapRequest['setup']): HeatMapRequest['setup'] => setup

/**
 * Crops that were validated, each with the heat map of the class that the network says over it: of
 * those that lie within their image, of RGB of 8 bits and of a network that scores images. Fails as
 * `computeHeatMap`.
 */
export const drawHeatMaps = (crops: readonly SeenCrop[], request: CropHeatMapRequest): Outcome<readonly SeenCrop[]> =>
  TE.traverseSeqArray(withHeatMap(request))(crops)
