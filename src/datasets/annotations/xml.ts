import * as E from 'fp-ts/Either'
import { SaxesParser } from 'saxes'
import { clause } from '../../failure'
import { type DrawnPolygon, type Ring, boundingBox } from './paint-polygons'

type Attributes = Readonly<Record<string, string>>

/** A shape while it is read. */
interface Shape {
  readonly className?: string
  readonly kind: string
  readonly isHole: boolean
  readonly place: string
  readonly corners: number[]
}

/** A fault of the file, which the parser throws to its caller. */
class Fault extends Error {}

const parseNumber = (attributes: Attributes, name: string, line: number): number => {
  const text = attributes[name]
  if (text === undefined || text.trim() === '' || !Number.isFinite(Number(text)))
    throw new Fault(`line ${line}: ${name} is ${text === undefined ? 'missing' : `"${text}", which is no number`}`)
  return Number(text)
}

/** Shapes that mark no area, by the words of ASAP and the numbers of ImageScope. */
const withoutArea: readonly string[] = ['Dot', 'PointSet', 'Measurement', '3', '4']
const areas: readonly string[] = ['Polygon', 'Rectangle', '0', '1']

/** Hand-drawn lines often end where they began. */
const toRing = ({ corners }: Shape): Ring => {
  const isClosed = corners.length > 2 && corners[0] === corners.at(-2) && corners[1] === corners.at(-1)
  return Float64Array.from(isClosed ? corners.slice(0, -2) : corners)
}

const toPolygon = ({ className, place }: Shape, outer: Ring, holes: readonly Ring[] = []): DrawnPolygon => ({
  ...(className === undefined ? {} : { className }),
  outer,
  holes,
  place
})

/** The regions of a layer: each has the holes near it, since a layer may have many of both. */
const regionsOf = (layer: readonly Shape[]): readonly DrawnPolygon[] => {
  const place = (shape: Shape) => {
    const ring = toRing(shape)
    return { shape, ring, box: boundingBox(ring) }
  }
  const holes = layer.filter(({ isHole }) => isHole).map(place)
  return layer
    .filter(({ isHole }) => !isHole)
    .map(place)
    .map(({ shape, ring, box }) =>
      toPolygon(
        shape,
        ring,
        holes
          .filter(
            ({ box: { left, right, top, bottom } }) => left <= box.right && box.left <= right && top <= box.bottom && box.top <= bottom
          )
          .map((hole) => hole.ring)
      )
    )
}

const checkKind = ({ kind, place }: Shape): boolean => {
  if (withoutArea.includes(kind)) return false
  if (!areas.includes(kind)) {
    const shape = kind === '' ? 'missing (Type)' : /^\d+$/.test(kind) ? `of type ${kind}` : `a ${kind}`
    throw new Fault(`${place}: its shape is ${shape}: draw it as a polygon`)
  }
  return true
}

const nonEmpty = (text: string | undefined): string | undefined => (text === undefined || text.trim() === '' ? undefined : text)

/** What is asked of the names of elements, one after the other. */
interface Reader {
  readonly open: (name: string, attributes: Attributes, line: number) => void
  readonly close: (name: string) => void
  readonly polygons: () => readonly DrawnPolygon[]
}

/** ASAP: an Annotation each, of the class PartOfGroup; Coordinates by their Order. */
const asapReader = (): Reader => {
  const polygons: DrawnPolygon[] = []
  let shape: Shape | undefined
  let places: { readonly order: number; readonly x: number; readonly y: number }[] = []
  return {
    open: (name, attributes, line) => {
      if (name === 'Annotation') {
        const group = nonEmpty(attributes.PartOfGroup)
        const className = group === 'None' ? undefined : group
        const place = `line ${line}`
        shape = { ...(className === undefined ? {} : { className }), kind: attributes.Type ?? '', isHole: false, place, corners: [] }
        places = []
      } else if (name === 'Coordinate' && shape !== undefined)
        places.push({
          order: parseNumber(attributes, 'Order', line),
          x: parseNumber(attributes, 'X', line),
          y: parseNumber(attributes, 'Y', line)
        })
    },
    close: (name) => {
      if (name !== 'Annotation' || shape === undefined) return
      for (const { x, y } of places.sort((one, other) => one.order - other.order)) shape.corners.push(x, y)
      if (checkKind(shape)) polygons.push(toPolygon(shape, toRing(shape)))
      shape = undefined
    },
    polygons: () => polygons
  }
}

/** ImageScope: an Annotation is a layer, its Name the class; negative Regions are its holes. */
const imageScopeReader = (): Reader => {
  const polygons: DrawnPolygon[] = []
  let layer: string | undefined
  let shapes: Shape[] = []
  let shape: Shape | undefined
  return {
    open: (name, attributes, line) => {
      if (name === 'Annotation') [layer, shapes] = [nonEmpty(attributes.Name), []]
      else if (name === 'Region')
        shape = {
          ...(layer === undefined ? {} : { className: layer }),
          kind: attributes.Type ?? '0',
          isHole: attributes.NegativeROA === '1',
          place: `line ${line}`,
          corners: []
        }
      else if (name === 'Vertex' && shape !== undefined)
        shape.corners.push(parseNumber(attributes, 'X', line), parseNumber(attributes, 'Y', line))
    },
    close: (name) => {
      if (name === 'Region' && shape !== undefined) {
        if (checkKind(shape)) shapes.push(shape)
        shape = undefined
      }
      if (name === 'Annotation') for (const polygon of regionsOf(shapes)) polygons.push(polygon)
    },
    polygons: () => polygons
  }
}

/** By the name of the first element, which may be any word, `constructor` too. */
const readers: ReadonlyMap<string, () => Reader> = new Map([
  ['ASAP_Annotations', asapReader],
  ['Annotations', imageScopeReader]
])

/**
 * The polygons of an XML file of ASAP or of ImageScope. Left is what is wrong on which line.
 */
export const decodeAnnotationXml = (text: string): E.Either<string, readonly DrawnPolygon[]> => {
  const parser = new SaxesParser()
  let reader: Reader | undefined
  parser.on('error', (error) => {
    throw new Fault(`it is no XML (${clause(error)}): store it anew`)
  })
  parser.on('opentag', ({ name, attributes }) => {
    reader ??= readers.get(name)?.()
    if (reader === undefined)
      throw new Fault(`it begins with <${name}> and is no file of ASAP or ImageScope: store it as one of these, or as GeoJSON`)
    reader.open(name, attributes, parser.line)
  })
  parser.on('closetag', ({ name }) => reader?.close(name))
  try {
    parser.write(text).close()
    return E.right(reader?.polygons() ?? [])
  } catch (thrown) {
    if (thrown instanceof Fault) return E.left(thrown.message)
    throw thrown
  }
}
