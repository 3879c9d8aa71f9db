import type { ImageWindow } from '../../native'

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

const isAffine = (affine: readonly number[]): affine is GeoTransform['affine'] => affine.length === 6 && affine.every(Number.isFinite)

/**
 * The place that GeoTIFF's tags tell: by a transformation, or by a scale and one point. Undefined
 * where there is neither.
 */
export const readGeoTransform = ({ pixelScale, tiePoints, transformation, geoKeys = [] }: GeoTags): GeoTransform | undefined => {
  const keys = shortKeys(geoKeys)
  const affineOf = (): readonly number[] => {
    if (transformation !== undefined && transformation.length >= 8) {
      const [b, c, , a, e, f, , d] = transformation
      return [a!, b!, c!, d!, e!, f!]
    }
    if (pixelScale === undefined || tiePoints === undefined || pixelScale.length < 2 || tiePoints.length < 6) return []
    const [[across, down], [column, row, , x, y]] = [pixelScale, tiePoints] as [number[], number[]]
    return [x! - column! * across!, across!, 0, y! + row! * down!, 0, -down!]
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
