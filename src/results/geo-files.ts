import { extname } from 'node:path'
import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import type { Outcome } from '../failure'
import { writeFileAtomic } from '../files/atomic-write'
import { readText } from '../files/read-file'
import type { GeoTransform } from '../images/tiff/geo-transform'
import { projectionText } from './projection-file'
import { type TiffTag, tag } from './tiff-file'

/** Keys of GeoTIFF (OGC 19-008r4, 7.2): key, place, count, value. */
const keys = { modelType: 1024, rasterType: 1025, geodetic: 2048, projected: 3072 } as const
const [projectedModel, geographicModel, pixelIsArea] = [1, 2, 1]

const geoKeys = ({ epsg, isGeodetic }: Omit<GeoTransform, 'affine'>): readonly number[] => {
  const system =
    epsg === undefined
      ? []
      : [
          [keys.modelType, isGeodetic ? geographicModel : projectedModel],
          [isGeodetic ? keys.geodetic : keys.projected, epsg]
        ]
  const all = [...system, [keys.rasterType, pixelIsArea]].sort(([one], [other]) => one! - other!)
  return [1, 1, 0, all.length, ...all.flatMap(([key, value]) => [key!, 0, 1, value!])]
}

/** The tags of GeoTIFF that keep the place: a transformation, and the system's code. */
export const listGeoTags = ({ affine: [a, b, c, d, e, f], ...system }: GeoTransform): readonly TiffTag[] => [
  tag(34264, 'double', b, c, 0, a, e, f, 0, d, 0, 0, 0, 0, 0, 0, 0, 1),
  tag(34735, 'short', ...geoKeys(system))
]

const endings: Readonly<Record<string, string>> = { '.tif': '.tfw', '.tiff': '.tfw', '.png': '.pgw' }

/** The six lines of a world file, of which the last two are the middle of the first pixel. */
const worldText = ({ affine: [a, b, c, d, e, f] }: GeoTransform): string => `${[b, e, c, f, a + (b + c) / 2, d + (e + f) / 2].join('\n')}\n`

/** Whether there is a file that holds another text. */
const isAnother = (path: string, text: string): boolean => E.exists((found) => found !== text)(readText('projection', path))

const writeText = (path: string, text: string): Outcome<void> => writeFileAtomic(path, () => [Buffer.from(text)])

/**
 * Writes what keeps an image's place beside it, for *.tif and *.png: a world file, and a .prj where
 * the coordinate system is known by its code. Where its text is not, or another stands there, which
 * is left, `onNotice` is told.
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
        (text) => {
          const projection = `${stem}.prj`
          return isAnother(projection, text)
            ? TE.fromIO(() => onNotice?.(`${projection} is left as it is: it is not what would be written for EPSG:${code}`))
            : writeText(projection, text)
        }
      )
    )
  return pipe(
    writeText(`${stem}${ending}`, worldText(geoTransform)),
    TE.chain(() => (epsg === undefined ? TE.right(undefined) : writeProjection(epsg)))
  )
}
