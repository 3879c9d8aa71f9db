import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { type Failure, type Outcome, inputFailure } from '../../failure'
import { makePolygonMap, readAnnotations } from './annotations'
import type { AnnotationRules } from '../class-list'
import type { ImageHeader } from '../../images/image-header'
import type { Mask } from '../masks/masks'
import { type DrawnPolygon, type PolygonMap, boundingBox, countPainted } from './paint-polygons'
import type { Extent2 } from '../../images/resolution'

/** The polygons of a mask, over an image of its extent. */
export const openAnnotations = (path: string, image: Extent2, rules: AnnotationRules): Outcome<PolygonMap> =>
  pipe(readAnnotations(path), TE.chainEitherK(makePolygonMap(path, image, rules)))

/** Degrees of longitude and latitude, of which no polygon has as many as a pixel is wide. */
const isOnGlobe = ({ outer }: DrawnPolygon): boolean => {
  const { left, top, right, bottom } = boundingBox(outer)
  return left >= -180 && right <= 180 && top >= -90 && bottom <= 90 && right - left < 1 && bottom - top < 1
}

/** Without `crs`, GeoJSON is in longitude and latitude by RFC 7946, or in pixels as of QuPath. */
const checkPixels =
  (path: string, { geoTransform }: ImageHeader) =>
  (polygons: readonly DrawnPolygon[]): E.Either<Failure, readonly DrawnPolygon[]> =>
    geoTransform === undefined || polygons.length === 0 || !polygons.every(isOnGlobe)
      ? E.right(polygons)
      : E.left(
          inputFailure(
            `the annotations ${path}: each polygon is smaller than a pixel of its image, which lies on the ground, as in longitude and latitude: store places in pixels of the image`
          )
        )

/** Reads polygons over an image, in pixels of its finest level, to see what they hold. */
export const inspectAnnotations = (path: string, header: ImageHeader, annotation: AnnotationRules): Outcome<Mask> => {
  const { height, width } = header.levels[0]!
  return pipe(
    readAnnotations(path),
    TE.chainEitherK(checkPixels(path, header)),
    TE.chainEitherK(makePolygonMap(path, { height, width }, annotation)),
    TE.map((map): Mask => ({ path, height, width, counts: countPainted(map), annotation }))
  )
}
