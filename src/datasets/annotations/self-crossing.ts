import type { Ring } from './paint-polygons'

interface Edge {
  readonly x0: number
  readonly y0: number
  readonly x1: number
  readonly y1: number
}

const listEdges = (ring: Ring): readonly Edge[] =>
  Array.from({ length: ring.length / 2 }, (_, corner) => {
    const [at, next] = [2 * corner, 2 * corner + 2 === ring.length ? 0 : 2 * corner + 2]
    return { x0: ring[at]!, y0: ring[at + 1]!, x1: ring[next]!, y1: ring[next + 1]! }
  })

/** On which side of an edge a point lies: the sign says it. */
const side = ({ x0, y0, x1, y1 }: Edge, x: number, y: number): number => (x1 - x0) * (y - y0) - (y1 - y0) * (x - x0)

const isBetween = (one: number, other: number): boolean => (one > 0 && other < 0) || (one < 0 && other > 0)

interface Place {
  readonly x: number
  readonly y: number
}

/** Where two edges cross; edges that only touch do not. */
const findCrossing = (one: Edge, other: Edge): Place | undefined => {
  const [from, to] = [side(one, other.x0, other.y0), side(one, other.x1, other.y1)]
  if (!isBetween(from, to) || !isBetween(side(other, one.x0, one.y0), side(other, one.x1, one.y1))) return undefined
  const share = from / (from - to)
  return { x: other.x0 + share * (other.x1 - other.x0), y: other.y0 + share * (other.y1 - other.y0) }
}

const topOf = ({ y0, y1 }: Edge): number => Math.min(y0, y1)

/** Compares each edge with those that have begun above it, and not ended. */
const findByRows = (edges: readonly Edge[]): Place | undefined => {
  let open: Edge[] = []
  for (const edge of [...edges].sort((one, other) => topOf(one) - topOf(other))) {
    const top = topOf(edge)
    open = open.filter(({ y0, y1 }) => Math.max(y0, y1) >= top)
    for (const other of open) {
      const crossing = findCrossing(edge, other)
      if (crossing !== undefined) return crossing
    }
    open.push(edge)
  }
  return undefined
}

/** So few edges are not worth halving. */
const fewEdges = 64
/** The share of edges that a half may have, most of all those of which it has a part. */
const mostOfHalf = 0.6

type Axis = readonly [from: 'x0' | 'y0', to: 'x1' | 'y1']
const axes: readonly Axis[] = [
  ['x0', 'x1'],
  ['y0', 'y1']
]

/** The edges on either side of their median place; undefined where too many are on both. */
const halve =
  (edges: readonly Edge[]) =>
  ([from, to]: Axis): readonly (readonly Edge[])[] | undefined => {
    const middle = Float64Array.from(edges, (edge) => (edge[from] + edge[to]) / 2).sort()[edges.length >> 1]!
    const halves = [
      edges.filter((edge) => Math.min(edge[from], edge[to]) <= middle),
      edges.filter((edge) => Math.max(edge[from], edge[to]) > middle)
    ]
    return halves.every(({ length }) => length <= mostOfHalf * edges.length) ? halves : undefined
  }

/** By halves, since a jagged side of a region has all of its edges in the same few rows. */
const findAmong = (edges: readonly Edge[]): Place | undefined => {
  const halves = edges.length <= fewEdges ? undefined : (halve(edges)(axes[0]!) ?? halve(edges)(axes[1]!))
  if (halves === undefined) return findByRows(edges)
  const [found, ...others] = halves.flatMap((half) => findAmong(half) ?? [])
  return others.reduce((upper, other) => (upper !== undefined && upper.y <= other.y ? upper : other), found)
}

/**
 * The first place that is found, from above, where lines of a polygon cross, itself or its holes;
 * undefined where none do. Lines that touch do not cross.
 */
export const findSelfCrossing = (rings: readonly Ring[]): Place | undefined => findAmong(rings.flatMap(listEdges))
