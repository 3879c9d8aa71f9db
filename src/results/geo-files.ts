import { extname } from 'node:path'
import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import type { Outcome } from '../failure'
import { writeFileAtomic } from '../files/atomic-write'
import type { GeoTransform } from '../images/geo-transform'
import { projectionText } from './projection-file'
import { type TiffTag, tag } from './tiff-file'

/** Keys of GeoTIFF (OGC 19-008r4, 7.2): key, place, count, value. */
const keys = { modelType: 1024, rasterType: 1025, geodetic: 2048, projected: 3072 } as const
const [projectedModel, geographicModel, pixelIsArea] = [1, 2, 1]

/** EPSG numbers coordinate systems of degrees so; all others are of metres or feet. */
const isGeographic = (epsg: number): boolean => epsg >= 4000 && epsg < 5000

const geoKeys = (epsg: number | undefined): readonly number[] => {
  const system =
    epsg === undefined
      ? []
      : [
          [keys.modelType, isGeographic(epsg) ? geographicModel : projectedModel],
          [isGeographic(epsg) ? keys.geodetic : keys.projected, epsg]
        ]
  const all = [...system, [keys.rasterType, pixelIsArea]].sort(([one], [other]) => one! - other!)
  return [1, 1, 0, all.length, ...all.flatMap(([key, value]) => [key!, 0, 1, value!])]
}

/** The tags of GeoTIFF that keep the place: a transformation, and the system's code. */
export const listGeoTags = ({ affine: [a, b, c, d, e, f], epsg }: GeoTransform): readonly TiffTag[] => [
  tag(34264, 'double', b, c, 0, a, e, f, 0, d, 0, 0, 0, 0, 0, 0, 0, 1),
  tag(34735, 'short', ...geoKeys(epsg))
]

const endings: Readonly<Record<string, string>> = { '.tif': '.tfw', '.tiff': '.tfw', '.png': '.pgw' }

/** The six lines of a world file, of which the last two are the middle of the first pixel. */
const worldText = ({ affine: [a, b, c, d, e, f] }: GeoTransform): string => `${[b, e, c, f, a + (b + c) / 2, d + (e + f) / 2].join('\n')}\n`

const writeText = (path: string, text: string): Outcome<void> => writeFileAtomic(path, () => [Buffer.from(text)])

/**
 * Writes what keeps an image's place beside it, for *.tif and *.png: a world file, and a .prj where
 * the coordinate system is known by its code; where its text is not, `onNotice` is told.
 */
export const writeGeoFiles = (path: string, geoTransform: GeoTransform, onNotice?: (sentence: string) => void): Outcome<void> => {
  const extension = extname(path)
  const ending = endings[extension.toLowerCase()]
  if (ending === undefined) return TE.right(undefined)
  const stem = path.slice(0, path.length - extension.length)
  const { epsg } = geoTransform
  const writeProjection = (code: number): Outcome<void> =>
    pipe(
      projectionText(code),
      E.fold(
        (sentence) => TE.fromIO(() => onNotice?.(sentence)),
        (text) => writeText(`${stem}.prj`, text)
      )
    )
  return pipe(
    writeText(`${stem}${ending}`, worldText(geoTransform)),
    TE.chain(() => (epsg === undefined ? TE.right(undefined) : writeProjection(epsg)))
  )
}
