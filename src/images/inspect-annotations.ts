import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import type { Outcome } from '../failure'
import { makePolygonMap, readAnnotations } from './annotations'
import type { AnnotationRules } from './class-list'
import type { ImageHeader } from './image-header'
import type { Mask } from './masks'
import { type PolygonMap, countPainted } from './paint-polygons'
import type { Extent2 } from './resolution'

/** The polygons of a mask, over an image of its extent. */
export const openAnnotations = (path: string, image: Extent2, rules: AnnotationRules): Outcome<PolygonMap> =>
  pipe(readAnnotations(path), TE.chainEitherK(makePolygonMap(path, image, rules)))

/** Reads polygons over an image, in pixels of its finest level, to see what they hold. */
export const inspectAnnotations = (path: string, { levels: [finest] }: ImageHeader, annotation: AnnotationRules): Outcome<Mask> => {
  const { height, width } = finest!
  return pipe(
    openAnnotations(path, { height, width }, annotation),
    TE.map((map): Mask => ({ path, height, width, counts: countPainted(map), annotation }))
  )
}
