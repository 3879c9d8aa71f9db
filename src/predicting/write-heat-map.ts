import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { type Outcome, inputFailure } from '../failure'
import { scaleGeoTransform } from '../images/tiff/geo-transform'
import type { ImageSource } from '../images/image-source'
import { type Reading, isRgb } from '../images/samples'
import { listGeoTags, writeGeoFiles } from '../results/geo-files'
import { type HeatMap, overlayRows } from '../results/overlay'
import { writePicture } from '../results/write-overlay'
import { type ComputedHeatMap, type HeatMapRequest, brightestValue, computeHeatMap } from './heat-map'
import { readInput } from './input'
import { rowReader } from './normalised-input'

/** A heat map as it is told: its extent, and the values of its darkest and brightest places. */
export interface HeatMapReport extends Pick<HeatMapRequest, 'kind'> {
  readonly class: number
  readonly height: number
  readonly width: number
  readonly lowest: number
  readonly highest: number
}

const findExtremes = ({ values }: HeatMap): readonly [lowest: number, highest: number] => {
  let [lowest, highest] = [Infinity, -Infinity]
  for (let index = 0; index < values.length; index += 1) {
    lowest = Math.min(lowest, values[index]!)
    highest = Math.max(highest, values[index]!)
  }
  return [lowest, highest]
}

/**
 * Computes the heat map of a class over an image and writes it over the image, *.tif (a pyramid) or
 * *.png.
 */
export const writeHeatMap = (
  path: string,
  source: ImageSource,
  reading: Reading,
  { onNotice, ...request }: Omit<HeatMapRequest, 'input' | 'readRows'> & { readonly onNotice?: ((sentence: string) => void) | undefined }
): Outcome<readonly [HeatMapReport, ComputedHeatMap]> => {
  const { height, width, view, geoTransform } = source.header
  if (!isRgb(source))
    return TE.left(
      inputFailure(
        `the image ${source.path} has ${source.channels} channels of ${source.elementType}, but heat maps are drawn over RGB of 8 bits: leave out --heatmap`
      )
    )
  return pipe(
    TE.Do,
    TE.bind('input', () => readInput(source, reading)),
    TE.bind('readRows', () => rowReader(source, reading)),
    TE.bind('map', ({ input, readRows }) => computeHeatMap({ ...request, input, readRows })),
    TE.chain(({ map, readRows }) => {
      const [lowest, highest] = findExtremes(map)
      const read = async (top: number, rows: number): Promise<Uint8Array> => {
        const given = await readRows(top, rows)()
        if (E.isLeft(given)) throw new Error(given.left.message)
        return given.right
      }
      return pipe(
        writePicture(
          path,
          overlayRows({ height, width, read: ({ top, height: rows }) => read(top, rows) }, map, brightestValue(map, request.kind)),
          {
            micronsPerPixel: view.micronsPerPixel,
            ...(geoTransform && { geoTags: listGeoTags(geoTransform) })
          }
        ),
        TE.chain((along) =>
          geoTransform === undefined
            ? TE.right(undefined)
            : writeGeoFiles(path, scaleGeoTransform(geoTransform, { height: along, width: along }, { height: 1, width: 1 }), onNotice)
        ),
        TE.map(() => [{ kind: request.kind, class: map.classIndex, height: map.height, width: map.width, lowest, highest }, map] as const)
      )
    })
  )
}
