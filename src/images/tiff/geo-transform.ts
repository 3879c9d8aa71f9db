import type { ImageWindow } from '../../../native'

type Extent = Pick<ImageWindow, 'height' | 'width'>

/**
 * Where an image lies on the ground: the corner of the pixel (row, column) is at x = a + b column +
 * c row, y = d + e column + f row, with affine [a, b, c, d, e, f] (GDAL's order) in the units of
 * the coordinate system. `epsg` is its EPSG code; absent where the file names none; `isGeodetic` of
 * a system of degrees, which is not projected.
 */
export interface GeoTransform {
  readonly affine: readonly [number, number, number, number, number, number]
  readonly epsg?: number
  readonly isGeodetic?: true
}

/** Returns where an image lies on the ground when it is read at another extent, as of a level. */
export const scaleGeoTransform = ({ affine: [a, b, c, d, e, f], ...rest }: GeoTransform, stored: Extent, read: Extent): GeoTransform => {
  const [across, down] = [stored.width / read.width, stored.height / read.height]
  return { ...rest, affine: [a, b * across, c * down, d, e * across, f * down] }
}

/** Returns where a window of an image lies on the ground. */
export const shiftGeoTransform = (
  { affine: [a, b, c, d, e, f], ...rest }: GeoTransform,
  { top, left }: Pick<ImageWindow, 'top' | 'left'>
): GeoTransform => ({ ...rest, affine: [a + b * left + c * top, b, c, d + e * left + f * top, e, f] })

/** The values of GeoTIFF's tags (OGC 19-008r4, 7.1.2 and 8); absent where the file has none. */
export interface GeoTags {
  readonly pixelScale?: readonly number[] | undefined
  readonly tiePoints?: readonly number[] | undefined
  readonly transformation?: readonly number[] | undefined
  readonly geoKeys?: readonly number[] | undefined
}

const [rasterType, geodeticCode, projectedCode] = [1025, 2048, 3072]
const pixelIsPoint = 2
/** A coordinate system of the file's own, which has no code. */
const userDefined = 32767

/** Keys whose value stands in the directory itself. */
const shortKeys = (geoKeys: readonly number[]): ReadonlyMap<number, number> =>
  new Map(
    Array.from({ length: Math.floor((geoKeys.length - 4) / 4) }, (_, index) => geoKeys.slice(4 + 4 * index, 8 + 4 * index))
      .filter(([, location]) => location === 0)
      .map(([key, , , value]) => [key!, value!])
  )

/** Six numbers that give each pixel a place of its own. */
const isAffine = (affine: readonly number[]): affine is GeoTransform['affine'] => {
  const [, b, c, , e, f] = affine
  return affine.length === 6 && affine.every(Number.isFinite) && b! * f! !== c! * e!
}

/**
 * The place that GeoTIFF's tags tell, as GDAL reads it: by a scale and one point, or by a
 * transformation. Undefined where there is neither.
 */
export const readGeoTransform = ({
  pixelScale = [],
  tiePoints = [],
  transformation = [],
  geoKeys = []
}: GeoTags): GeoTransform | undefined => {
  const keys = shortKeys(geoKeys)
  const affineOf = (): readonly number[] => {
    const [[across = 0, signedDown = 0], [column, row, , x, y]] = [pixelScale, tiePoints]
    // What some writers make negative goes down all the same.
    const down = Math.abs(signedDown)
    if (across !== 0 && down !== 0 && tiePoints.length >= 6) return [x! - column! * across, across, 0, y! + row! * down, 0, -down]
    const [b, c, , a, e, f, , d] = transformation
    return transformation.length < 8 ? [] : [a!, b!, c!, d!, e!, f!]
  }
  const affine = affineOf()
  if (!isAffine(affine)) return undefined
  const code = keys.get(projectedCode) ?? keys.get(geodeticCode)
  const isKnown = code !== undefined && code !== 0 && code !== userDefined
  const isGeodetic = isKnown && !keys.has(projectedCode)
  const geoTransform = { affine, ...(isKnown && { epsg: code }), ...(isGeodetic && { isGeodetic: true as const }) }
  // What lies at the middle of a pixel there lies at its corner here.
  return keys.get(rasterType) === pixelIsPoint ? shiftGeoTransform(geoTransform, { top: -0.5, left: -0.5 }) : geoTransform
}
