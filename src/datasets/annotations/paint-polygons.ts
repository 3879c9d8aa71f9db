import type { ImageWindow } from '../../../native'
import type { Extent2 } from '../../images/resolution'

/** Corners of a closed line, x and y in turn, in pixels of the finest level from its upper left. */
export type Ring = Float64Array

/** A polygon as it was drawn. */
export interface DrawnPolygon {
  /** What the file calls its class; absent where it has none. */
  readonly className?: string
  readonly outer: Ring
  readonly holes: readonly Ring[]
  /** Where it stands in its file, for sentences: `feature 3`. */
  readonly place: string
}

interface Bounds {
  readonly left: number
  readonly top: number
  readonly right: number
  readonly bottom: number
}

/** A polygon, and when it is painted: a higher rank covers a lower. */
interface RankedPolygon {
  readonly rings: readonly Ring[]
  readonly bounds: Bounds
  readonly rank: number
}

/** Polygons over an image, of which each pixel has a value. */
export interface PolygonMap extends Extent2 {
  readonly polygons: readonly RankedPolygon[]
  /** The value that each polygon paints, by its rank. */
  readonly values: readonly number[]
  /** The value of pixels outside of all polygons. */
  readonly outside: number
}

/** The smallest box, in pixels, that holds all points of a ring. */
export const boundingBox = (ring: Ring): Bounds => {
  let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity]
  for (let at = 0; at < ring.length; at += 2) {
    left = Math.min(left, ring[at]!)
    right = Math.max(right, ring[at]!)
    top = Math.min(top, ring[at + 1]!)
    bottom = Math.max(bottom, ring[at + 1]!)
  }
  return { left, top, right, bottom }
}

/**
 * Tells whether a ring has an area (Gauss's formula, from its first corner): it has none where its
 * corners are one place or lie on one line, but for rounding.
 */
export const hasArea = (ring: Ring): boolean => {
  const [x, y] = [ring[0]!, ring[1]!]
  let [doubled, products] = [0, 0]
  for (let at = 2; at + 2 < ring.length; at += 2) {
    const down = (ring[at]! - x) * (ring[at + 3]! - y)
    const up = (ring[at + 2]! - x) * (ring[at + 1]! - y)
    doubled += down - up
    products += Math.abs(down) + Math.abs(up)
  }
  return Math.abs(doubled) > 1e-9 * products
}

/** A polygon of a rank, ready to be painted. */
export const rankPolygon = ({ outer, holes }: DrawnPolygon, rank: number): RankedPolygon => ({
  rings: [outer, ...holes],
  bounds: boundingBox(outer),
  rank
})

/** Bytes that the corners take in memory. */
export const polygonBytes = ({ polygons }: PolygonMap): number =>
  polygons.reduce((sum, { rings }) => sum + rings.reduce((bytes, ring) => bytes + ring.byteLength, 0), 0)

/** Numbers in the order in which they come, then sorted. */
class Crossings {
  private held = new Float64Array(1024)
  private count = 0
  push(key: number): void {
    if (this.count === this.held.length) {
      const larger = new Float64Array(2 * this.count)
      larger.set(this.held)
      this.held = larger
    }
    this.held[this.count] = key
    this.count += 1
  }
  sorted(): Float64Array {
    return this.held.subarray(0, this.count).sort()
  }
}

type Run = (row: number, from: number, to: number, value: number) => void

/** The rows of a window whose middles an edge crosses, and the first column right of each. */
const crossRows = (
  ring: Ring,
  scale: { readonly x: number; readonly y: number },
  { top, left, height, width }: ImageWindow,
  cross: (row: number, column: number) => void
): void => {
  for (let at = 0; at < ring.length; at += 2) {
    const next = at + 2 === ring.length ? 0 : at + 2
    // From the upper end: an edge of two neighbours is crossed at the same place for both.
    const [upper, lower] = ring[at + 1]! <= ring[next + 1]! ? [at, next] : [next, at]
    const [x0, y0] = [ring[upper]! * scale.x, ring[upper + 1]! * scale.y]
    const [x1, y1] = [ring[lower]! * scale.x, ring[lower + 1]! * scale.y]
    const first = Math.max(0, Math.ceil(y0 - 0.5) - top)
    const end = Math.min(height, Math.ceil(y1 - 0.5) - top)
    for (let row = first; row < end; row += 1) {
      const x = x0 + ((top + row + 0.5 - y0) * (x1 - x0)) / (y1 - y0)
      cross(row, Math.min(width, Math.max(0, Math.ceil(x - 0.5) - left)))
    }
  }
}

/** Tells the runs of equal pixels of each row of a window of the map at some extent. */
const forEachRun = (map: PolygonMap, view: Extent2, window: ImageWindow, run: Run): void => {
  const { top, left, height, width } = window
  const scale = { x: view.width / map.width, y: view.height / map.height }
  const seen = map.polygons.filter(
    ({ bounds }) =>
      bounds.bottom * scale.y > top &&
      bounds.top * scale.y < top + height &&
      bounds.right * scale.x > left &&
      bounds.left * scale.x < left + width
  )
  const rings = seen.flatMap((polygon, owner) => polygon.rings.map((ring, index) => ({ ring, owner, isHole: index > 0 })))
  const crossings = new Crossings()
  rings.forEach(({ ring }, index) =>
    crossRows(ring, scale, window, (row, column) => crossings.push((row * (width + 1) + column) * rings.length + index))
  )
  const [insideRing, holesAt, outerAt] = [new Uint8Array(rings.length), new Uint32Array(seen.length), new Uint8Array(seen.length)]
  const painting = new Uint32Array(map.values.length)
  const valueNow = (): number => {
    for (let rank = painting.length - 1; rank >= 0; rank -= 1) if (painting[rank]! > 0) return map.values[rank]!
    return map.outside
  }
  const toggle = (index: number): void => {
    const { owner, isHole } = rings[index]!
    const { rank } = seen[owner]!
    const isIn = (): number => (outerAt[owner] === 1 && holesAt[owner] === 0 ? 1 : 0)
    const before = isIn()
    insideRing[index]! ^= 1
    if (!isHole) outerAt[owner] = insideRing[index]!
    else holesAt[owner]! += insideRing[index] === 1 ? 1 : -1
    painting[rank]! += isIn() - before
  }
  let [row, column] = [0, 0]
  const runTo = (nextRow: number, nextColumn: number): void => {
    for (; row < nextRow; row += 1, column = 0) if (column < width) run(row, column, width, valueNow())
    if (nextColumn > column) run(row, column, nextColumn, valueNow())
    column = nextColumn
  }
  for (const key of crossings.sorted()) {
    const cell = Math.floor(key / rings.length)
    const nextRow = Math.floor(cell / (width + 1))
    runTo(nextRow, cell - nextRow * (width + 1))
    toggle(key - cell * rings.length)
  }
  runTo(height, 0)
}

/**
 * The values of a window, row by row, of the map at an extent: those of the polygons in which the
 * pixels' middles lie, the highest rank's of several. A middle on an edge belongs to the right or
 * below.
 */
export const paintWindow = (map: PolygonMap, view: Extent2, window: ImageWindow): Uint8Array => {
  const pixels = new Uint8Array(window.height * window.width)
  forEachRun(map, view, window, (row, from, to, value) => pixels.fill(value, row * window.width + from, row * window.width + to))
  return pixels
}

const rowsAtOnce = 4096

/** As `forEachRun`, of all of the finest level. */
export const forEachRunOfMap = (map: PolygonMap, run: Run): void => {
  const { height, width } = map
  for (let top = 0; top < height; top += rowsAtOnce)
    forEachRun(map, map, { top, left: 0, height: Math.min(rowsAtOnce, height - top), width }, (row, ...at) => run(top + row, ...at))
}

/** Counts how many pixels of the finest level have each value from 0 to 255. */
export const countPainted = (map: PolygonMap): readonly number[] => {
  const counts = new Array<number>(256).fill(0)
  forEachRunOfMap(map, (_, from, to, value) => {
    counts[value]! += to - from
  })
  return counts
}
