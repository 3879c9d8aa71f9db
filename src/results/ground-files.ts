import { extname } from 'node:path'
import * as TE from 'fp-ts/TaskEither'
import type { Outcome } from '../failure'
import { writeFileAtomic } from '../files/atomic-write'
import type { GroundTransform } from '../images/ground-transform'
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
export const groundTags = ({ affine: [a, b, c, d, e, f], epsg }: GroundTransform): readonly TiffTag[] => [
  tag(34264, 'double', b, c, 0, a, e, f, 0, d, 0, 0, 0, 0, 0, 0, 0, 1),
  tag(34735, 'short', ...geoKeys(epsg))
]

const endings: Readonly<Record<string, string>> = { '.tif': '.tfw', '.tiff': '.tfw', '.png': '.pgw' }

/** The name of the world file beside an image; undefined beside other files. */
const worldFileOf = (path: string): string | undefined => {
  const ending = endings[extname(path).toLowerCase()]
  return ending === undefined ? undefined : `${path.slice(0, path.length - extname(path).length)}${ending}`
}

/**
 * Writes a world file beside an image: six lines, of which the last two are the middle of the first
 * pixel.
 */
export const writeWorldFile = (path: string, { affine: [a, b, c, d, e, f] }: GroundTransform): Outcome<void> => {
  const file = worldFileOf(path)
  const numbers = [b, e, c, f, a + (b + c) / 2, d + (e + f) / 2]
  return file === undefined ? TE.right(undefined) : writeFileAtomic(file, () => [Buffer.from(`${numbers.join('\n')}\n`)])
}
