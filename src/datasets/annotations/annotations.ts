import { readFile, stat } from 'node:fs/promises'
import { extname } from 'node:path'
import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { type Failure, type Outcome, inputFailure, errorReason } from '../../failure'
import { decodeAnnotationXml } from './xml'
import { type AnnotationRules, type ClassList, classListText, ignoredLabel } from '../class-list'
import { decodeGeoJson } from './geojson'
import { type DrawnPolygon, type PolygonMap, boundingBox, hasArea, rankPolygon } from './paint-polygons'
import { type Extent2, extentText } from '../../images/resolution'
import { findSelfCrossing } from './self-crossing'

const decoders: Readonly<Record<string, (text: string) => E.Either<string, readonly DrawnPolygon[]>>> = {
  '.geojson': decodeGeoJson,
  '.json': decodeGeoJson,
  '.xml': decodeAnnotationXml
}

const decoderFor = (path: string) => decoders[extname(path).toLowerCase()]

/** Tells whether a mask is drawn as polygons, by the ending of its name. */
export const isAnnotationName = (path: string): boolean => decoderFor(path) !== undefined

/** Tells whether they are GeoJSON, as QuPath exports. */
export const isGeoJsonName = (path: string): boolean => decoderFor(path) === decodeGeoJson

/** What a class list may call polygons without a class. */
export const unclassified = 'unclassified'

/** QuPath leaves classes out of training whose names end so. */
const isIgnoredByName = (name: string): boolean => name === 'Ignore*'

/** Names of classes that a file has, but for those that are ignored by their name. */
export const classNamesIn = (polygons: readonly DrawnPolygon[]): readonly string[] => [
  ...new Set(polygons.flatMap(({ className }) => (className === undefined || isIgnoredByName(className) ? [] : [className])))
]

const placeText = (x: number, y: number): string => `x ${Number(x.toFixed(1))}, y ${Number(y.toFixed(1))}`

/** Edges between places that no image reaches could not be followed. */
const farthest = 1e9

const findFault = ({ outer, holes }: DrawnPolygon): string | undefined => {
  if ([outer, ...holes].some((ring) => ring.length < 6)) return 'has less than three corners: draw it again, or delete it'
  if ([outer, ...holes].some((ring) => ring.some((place) => Math.abs(place) > farthest)))
    return `has a corner more than ${farthest} pixels away: give places in pixels of the image`
  const crossing = findSelfCrossing([outer, ...holes])
  if (crossing !== undefined) return `crosses itself at ${placeText(crossing.x, crossing.y)}: draw it again there`
  return hasArea(outer) ? undefined : `has no area at ${placeText(outer[0]!, outer[1]!)}: draw it again, or delete it`
}

/** Reads an annotation file whole, and refuses polygons whose inside is not clear. */
export const readAnnotations = (path: string): Outcome<readonly DrawnPolygon[]> => {
  const fail = (fault: string): Failure => inputFailure(`the annotations ${path}: ${fault}`)
  return pipe(
    TE.tryCatch(
      async () => {
        if (!(await stat(path)).isFile()) throw new Error('it is no ordinary file')
        return readFile(path, 'utf8')
      },
      (thrown) => inputFailure(`the annotations ${path} cannot be read: ${errorReason(thrown)}; mend its path, or leave its row out`)
    ),
    TE.chainEitherK((text) => E.mapLeft(fail)(decoderFor(path)!(text.replace(/^\ufeff/, '')))),
    TE.chainEitherK(
      E.traverseArray((polygon) => {
        const fault = findFault(polygon)
        return fault === undefined ? E.right(polygon) : E.left(fail(`${polygon.place}: the polygon ${fault}`))
      })
    )
  )
}

/**
 * The polygons over an image of an extent, ranked by the class list. Refused are classes that the
 * list has not, and polygons that lie outside of the image.
 */
export const makePolygonMap =
  (path: string, image: Extent2, { aliases, outside }: AnnotationRules) =>
  (polygons: readonly DrawnPolygon[]): E.Either<Failure, PolygonMap> => {
    const fail = (place: string, fault: string): E.Either<Failure, never> =>
      E.left(inputFailure(`the annotations ${path}: ${place}: ${fault}`))
    const rankOf = (name: string): number => {
      const found = aliases.findIndex((alias) => alias.name === name)
      return found < 0 && isIgnoredByName(name) ? aliases.length : found
    }
    return pipe(
      polygons,
      E.traverseArray((polygon) => {
        const { className = unclassified, place } = polygon
        const rank = rankOf(className)
        if (rank < 0)
          return fail(
            place,
            polygon.className === undefined
              ? `the polygon has no class: give it one, or a place to ${unclassified} in --class-names`
              : `the class "${className}" is none of ${classListText({ aliases })}: mend it, or add it to --class-names`
          )
        const { left, top, right, bottom } = boundingBox(polygon.outer)
        return right <= 0 || bottom <= 0 || left >= image.width || top >= image.height
          ? fail(
              place,
              `the polygon lies at ${placeText(left, top)}, outside of its image of ${extentText(image)}: give each image its own annotations, in pixels of its finest level`
            )
          : E.right(rankPolygon(polygon, rank))
      }),
      E.map((ranked) => ({
        polygons: ranked,
        values: [...aliases.map(({ value }) => value), ignoredLabel],
        outside,
        height: image.height,
        width: image.width
      }))
    )
  }

/** The class of pixels in no polygon, by its name; they are ignored where none is given. */
export const findBackgroundClass = (unannotated: string | undefined, { names }: Pick<ClassList, 'names'>): E.Either<Failure, number> => {
  if (unannotated === undefined) return E.right(ignoredLabel)
  const found = names.indexOf(unannotated)
  return found < 0
    ? E.left(inputFailure(`--unannotated ${unannotated} is none of the classes ${names.join(', ')}: add it to --class-names`))
    : E.right(found)
}
