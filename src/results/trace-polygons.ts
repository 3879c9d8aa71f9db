import type { PixelRows } from './pixel-rows'

/** Connected pixels of one value: its outer ring, then its holes, each closed, in pixels. */
export interface TracedPolygon {
  readonly value: number
  readonly rings: readonly (readonly (readonly [x: number, y: number])[])[]
}

/**
 * Pixels of one value that touch by their sides, as far as rows were read. Corners of its border:
 * x, y and which way the two sides of the border go from there.
 */
interface Component {
  readonly value: number
  corners: number[]
  /** What it has become part of. */
  parent?: Component
  lastRow: number
}

interface Run {
  readonly from: number
  readonly to: number
  readonly value: number
  readonly component: Component
}

const toRight = 1
const toBelow = 2

const findRoot = (component: Component): Component => {
  let root = component
  while (root.parent !== undefined) root = root.parent
  for (let one = component; one.parent !== undefined;) {
    const above = one.parent
    one.parent = root
    one = above
  }
  return root
}

/** The smaller one's corners go to the larger one's. */
const join = (one: Component, other: Component): void => {
  const [a, b] = [findRoot(one), findRoot(other)]
  if (a === b) return
  const [large, small] = a.corners.length >= b.corners.length ? [a, b] : [b, a]
  for (const number of small.corners) large.corners.push(number)
  small.corners = []
  small.parent = large
  large.lastRow = Math.max(large.lastRow, small.lastRow)
}

/** The runs of a row, joined with those above that they touch. */
const findRuns = (row: Uint8Array, above: readonly Run[], y: number): readonly Run[] => {
  const runs: Run[] = []
  let next = 0
  for (let from = 0; from < row.length;) {
    const value = row[from]!
    let to = from + 1
    while (to < row.length && row[to] === value) to += 1
    let component: Component | undefined
    while (next < above.length && above[next]!.to <= from) next += 1
    for (let index = next; index < above.length && above[index]!.from < to; index += 1) {
      const touching = above[index]!
      if (touching.value !== value) continue
      if (component === undefined) component = findRoot(touching.component)
      else join(component, touching.component)
    }
    component = component === undefined ? { value, corners: [], lastRow: y } : findRoot(component)
    component.lastRow = y
    runs.push({ from, to, value, component })
    from = to
  }
  return runs
}

/** Adds the corners on the line between two rows, from left to right. */
const addCorners = (above: readonly Run[], below: readonly Run[], y: number): void => {
  let [up, down] = [0, 0]
  let upLeft: Run | undefined
  let downLeft: Run | undefined
  const lastX = (above.at(-1) ?? below.at(-1))!.to
  const nextX = (): number => Math.min(above[up]?.from ?? lastX, below[down]?.from ?? lastX)
  for (let x = nextX(); ; x = nextX()) {
    const end = x === lastX
    const [startsAbove, startsBelow] = [above[up]?.from === x, below[down]?.from === x]
    const upRight: Run | undefined = end ? undefined : startsAbove ? above[up] : upLeft
    const downRight: Run | undefined = end ? undefined : startsBelow ? below[down] : downLeft
    if (startsAbove) up += 1
    if (startsBelow) down += 1
    const four = [upLeft, upRight, downLeft, downRight]
    four.forEach((run, index) => {
      // Of each value once, at the first of the four pixels that has it.
      if (run === undefined || four.findIndex((other) => other?.value === run.value) < index) return
      const [a, b, c, d] = four.map((other) => other?.value === run.value) as [boolean, boolean, boolean, boolean]
      const corner = (at: Run, right: boolean, under: boolean): void =>
        void findRoot(at.component).corners.push(x, y, (right ? toRight : 0) | (under ? toBelow : 0))
      if (a && d && !b && !c) {
        corner(upLeft!, false, false)
        corner(downRight!, true, true)
      } else if (b && c && !a && !d) {
        corner(downLeft!, false, true)
        corner(upRight!, true, false)
      } else if ((a !== c || b !== d) && (a !== b || c !== d)) corner(run, b !== d, c !== d)
    })
    if (end) return
    upLeft = upRight
    downLeft = downRight
  }
}

/** The place of each corner's neighbour along an order in which sides of the border are pairs. */
const partnersIn = (order: readonly number[]): Int32Array => {
  const partners = new Int32Array(order.length)
  for (let index = 0; index < order.length; index += 2) {
    partners[order[index]!] = order[index + 1]!
    partners[order[index + 1]!] = order[index]!
  }
  return partners
}

const doubledArea = (ring: TracedPolygon['rings'][number]): number =>
  ring.reduce((sum, [x, y], index) => {
    const [nextX, nextY] = ring[(index + 1) % ring.length]!
    return sum + x * nextY - nextX * y
  }, 0)

/**
 * The rings of a component's border, closed; outer rings turn one way, holes the other (RFC 7946).
 * Where two of its pixels touch by a corner alone, a hole touches the border there.
 */
const traceRings = (corners: readonly number[]): TracedPolygon['rings'] => {
  const x = (corner: number): number => corners[3 * corner]!
  const y = (corner: number): number => corners[3 * corner + 1]!
  const goes = (corner: number, way: number): number => ((corners[3 * corner + 2]! & way) === 0 ? 0 : 1)
  const all = Array.from({ length: corners.length / 3 }, (_, corner) => corner)
  const byRow = [...all].sort((one, other) => y(one) - y(other) || x(one) - x(other) || goes(one, toRight) - goes(other, toRight))
  // Of two at one place the side that goes down comes to the one that came from the left.
  const byColumn = [...all].sort((one, other) => x(one) - x(other) || y(one) - y(other) || goes(other, toBelow) - goes(one, toBelow))
  const [across, along] = [partnersIn(byRow), partnersIn(byColumn)]
  const isDone = new Uint8Array(all.length)
  const rings: (readonly (readonly [number, number])[])[] = []
  for (const start of byRow) {
    if (isDone[start] === 1) continue
    const ring: (readonly [number, number])[] = []
    let corner = start
    do {
      for (const partners of [across, along]) {
        isDone[corner] = 1
        ring.push([x(corner), y(corner)])
        corner = partners[corner]!
      }
    } while (corner !== start)
    // The topmost corner is the outer ring's.
    const turned = doubledArea(ring) > 0 === (rings.length === 0) ? ring : [...ring].reverse()
    rings.push([...turned, turned[0]!])
  }
  return rings
}

const rowsAtOnce = 256

/**
 * Traces the borders of connected pixels of one value along the sides of pixels, in one pass over
 * rows. `onPolygon` is told each polygon once no row can add to it; what is held are two rows and
 * the corners of those that are open. Pixels of the value `without` are left out.
 */
export const tracePolygons = async (
  pixels: PixelRows,
  onPolygon: (polygon: TracedPolygon) => Promise<void> | void,
  without?: number
): Promise<void> => {
  let above: readonly Run[] = []
  const close = async (y: number): Promise<void> => {
    for (const { component } of above) {
      const root = findRoot(component)
      if (root.lastRow >= y || root.corners.length === 0) continue
      const { corners, value } = root
      root.corners = []
      if (value !== without) await onPolygon({ value, rings: traceRings(corners) })
    }
  }
  for (let top = 0; top < pixels.height; top += rowsAtOnce) {
    const count = Math.min(rowsAtOnce, pixels.height - top)
    const band = await pixels.rows(top, count)
    for (let row = 0; row < count; row += 1) {
      const below = findRuns(band.subarray(row * pixels.width, (row + 1) * pixels.width), above, top + row)
      addCorners(above, below, top + row)
      await close(top + row)
      above = below
    }
  }
  addCorners(above, [], pixels.height)
  await close(pixels.height)
}
