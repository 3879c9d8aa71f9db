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

/** Where two edges cross; edges that only touch do not. */
const findCrossing = (one: Edge, other: Edge): { readonly x: number; readonly y: number } | undefined => {
  const [from, to] = [side(one, other.x0, other.y0), side(one, other.x1, other.y1)]
  if (!isBetween(from, to) || !isBetween(side(other, one.x0, one.y0), side(other, one.x1, one.y1))) return undefined
  const share = from / (from - to)
  return { x: other.x0 + share * (other.x1 - other.x0), y: other.y0 + share * (other.y1 - other.y0) }
}

/**
 * The first place, from above, where lines of a polygon cross, itself or its holes; undefined where
 * none do. Lines that touch do not cross.
 */
export const findSelfCrossing = (rings: readonly Ring[]): { readonly x: number; readonly y: number } | undefined => {
  const edges = rings.flatMap(listEdges).sort((one, other) => Math.min(one.y0, one.y1) - Math.min(other.y0, other.y1))
  let open: Edge[] = []
  for (const edge of edges) {
    const top = Math.min(edge.y0, edge.y1)
    open = open.filter(({ y0, y1 }) => Math.max(y0, y1) >= top)
    for (const other of open) {
      const crossing = findCrossing(edge, other)
      if (crossing !== undefined) return crossing
    }
    open.push(edge)
  }
  return undefined
}
