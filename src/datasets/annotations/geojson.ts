import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import * as t from 'io-ts'
import { decodeAs } from '../../../staging/decoding/decode'
import { predicateCodec } from '../../../staging/decoding/predicate-codec'
import type { DrawnPolygon, Ring } from './paint-polygons'

type Position = readonly [x: number, y: number]

const isPosition = (value: unknown): boolean => Array.isArray(value) && Number.isFinite(value[0]) && Number.isFinite(value[1])

const lineCodec = predicateCodec<readonly Position[]>(
  'a ring: four positions [x, y] or more, the first again in the end',
  (value) =>
    Array.isArray(value) &&
    value.length >= 4 &&
    value.every(isPosition) &&
    value[0]![0] === value.at(-1)![0] &&
    value[0]![1] === value.at(-1)![1]
)

const polygonCodec = t.readonlyArray(lineCodec)
/** A feature may have no place: null (RFC 7946, 3.2). */
const geometryCodec = t.union([t.type({ type: t.string }), t.null])
const areaCodec = t.type({ coordinates: polygonCodec })
const areasCodec = t.type({ coordinates: t.readonlyArray(polygonCodec) })
/** QuPath 0.4 and later lists the names of a class that is derived of others. */
const namesCodec = t.type({ names: t.readonlyArray(t.string) })
const classification = t.union([namesCodec, t.type({ name: t.string }), t.string, t.null, t.undefined])
const featureCodec = t.type({
  geometry: geometryCodec,
  properties: t.union([t.type({ classification }), t.null, t.undefined])
})

/** Shapes without an area: they mark no pixels. */
const withoutArea: readonly string[] = ['Point', 'MultiPoint', 'LineString', 'MultiLineString']

/** The last position is the first again. */
const toRing = (line: readonly Position[]): Ring => Float64Array.from(line.slice(0, -1).flatMap(([x, y]) => [x, y]))

const decodeAreas = (geometry: t.TypeOf<typeof geometryCodec>): E.Either<string, readonly (readonly (readonly Position[])[])[]> => {
  if (geometry === null) return E.right([])
  if (geometry.type === 'Polygon')
    return E.map(({ coordinates }: t.TypeOf<typeof areaCodec>) => [coordinates])(decodeAs('polygon', areaCodec)(geometry))
  if (geometry.type === 'MultiPolygon')
    return E.map(({ coordinates }: t.TypeOf<typeof areasCodec>) => coordinates)(decodeAs('polygon', areasCodec)(geometry))
  return withoutArea.includes(geometry.type) ? E.right([]) : E.left(`its geometry is a ${geometry.type}: make it a Polygon`)
}

/** Undefined where it is empty, too: no list could name it. */
const findClassName = ({ properties }: t.TypeOf<typeof featureCodec>): string | undefined => {
  const found = properties?.classification ?? ''
  const name = typeof found === 'string' ? found : namesCodec.is(found) ? found.names.join(': ') : found.name
  return name.trim() === '' ? undefined : name
}

const decodePolygons = (value: unknown, place: string): E.Either<string, readonly DrawnPolygon[]> =>
  pipe(
    decodeAs('feature', featureCodec)(value),
    E.bindTo('feature'),
    E.bind('areas', ({ feature }) => decodeAreas(feature.geometry)),
    E.map(({ feature, areas }) => {
      const className = findClassName(feature)
      return areas.flatMap(([outer, ...holes]) =>
        outer === undefined
          ? []
          : [{ ...(className === undefined ? {} : { className }), outer: toRing(outer), holes: holes.map(toRing), place }]
      )
    }),
    E.mapLeft((fault) => `${place}: ${fault}`)
  )

const collectionCodec = t.type({ features: t.readonlyArray(t.unknown) })

/** The features of a collection, a list of them, or a single one. */
const decodeFeatures = (value: unknown): E.Either<string, readonly unknown[]> => {
  if (Array.isArray(value)) return E.right(value)
  const { type, crs } = (value ?? {}) as { readonly type?: unknown; readonly crs?: unknown }
  // Null says that there is none.
  if (crs !== undefined && crs !== null)
    return E.left('it has a coordinate system (crs), but places are in pixels of the image: store them in pixels')
  if (type === 'Feature') return E.right([value])
  if (type !== 'FeatureCollection') return E.left('it is no GeoJSON of features, as QuPath exports')
  return E.map(({ features }: t.TypeOf<typeof collectionCodec>) => features)(decodeAs('feature collection', collectionCodec)(value))
}

/**
 * The polygons of GeoJSON (RFC 7946) in pixels, as QuPath exports: a class is
 * `properties.classification.name`, or its `names` as QuPath shows them, `Tumor: Positive`. Points,
 * lines and features without a geometry mark nothing. Left is what is wrong with which feature.
 */
export const decodeGeoJson = (text: string): E.Either<string, readonly DrawnPolygon[]> =>
  pipe(
    E.tryCatch(
      () => JSON.parse(text) as unknown,
      (thrown) => `it is no JSON (${(thrown as Error).message}): store it anew`
    ),
    E.chain(decodeFeatures),
    E.chain((features) =>
      pipe(
        features.map((feature, index) => [feature, `feature ${index + 1}`] as const),
        E.traverseArray(([feature, place]) => decodePolygons(feature, place))
      )
    ),
    E.map((polygons) => polygons.flat())
  )
