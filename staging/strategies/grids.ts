import { axisIndex, type Graph, type Node } from '../graph/graph'
import type { TileAxis } from '../program/program'
import { inputInterval } from '../graph/axis-access'
import { elementCount } from '../graph/extents'
import { effectiveTileCount, type Interval } from '../graph/interval'
import { fusibleTileAxes, ownedExtent } from '../graph/grid'
import { tileCount, type Grid, type Span } from '../graph/span'

/** Tile counts tried along one dimension: every one up to 16, then about an eighth apart. */
const counts = Array.from({ length: 52 }).reduce<readonly number[]>(
  (found) => [...found, found.length < 16 ? found.length + 1 : Math.round(found[found.length - 1]! * 1.125)],
  []
)

/** Tiles are kept this close to square: a longer border is more halo for the same area. */
const longestAspect = 2.5

/** The numbers of tiles that these counts make of a dimension. */
const upTo = (extent: number): readonly number[] => [
  ...new Set(counts.filter((count) => count <= extent).map((count) => effectiveTileCount(extent, count)))
]

const aspect = (height: number, width: number): number => Math.max(height / width, width / height)

/**
 * Extents along an axis of every node's output, for a tile in the middle: no border cuts its halo
 * short.
 */
const tileExtents = (nodes: readonly Node[], axis: TileAxis, tiles: number): readonly number[] => {
  const last = nodes[nodes.length - 1]!
  const summed = last.access[axis].kind === 'reduce'
  const owned = ownedExtent(last, axis)
  const extents: number[] = []
  let output: Interval = { from: 0, to: Math.ceil(owned / tiles) }
  for (const [position, node] of [...nodes.entries()].reverse()) {
    extents.unshift(Math.min(output.to - output.from, summed && position === nodes.length - 1 ? 1 : node.output[axisIndex[axis]]))
    if (summed && position === nodes.length - 1) continue
    const { interval, padBefore, padAfter } = inputInterval(node.access[axis], output, node.input[axisIndex[axis]])
    output = { from: 0, to: Math.min(interval.to - interval.from + padBefore + padAfter, node.input[axisIndex[axis]]) }
  }
  return extents
}

/**
 * Elements of a segment's tile, the most between two ops; and operations of all tiles, forward,
 * backward and once more.
 */
interface Proxy {
  readonly grid: Grid
  readonly elements: number
  readonly operations: number
}

/**
 * Operations that take as long as going over one element of a weight and its gradient for each
 * tile.
 */
const operationsPerWeight = 64

const makeProxyEstimator = (nodes: readonly Node[], extents: (axis: TileAxis, tiles: number) => readonly number[]) => {
  const channels = nodes.map(({ output }) => output[1])
  const parameters = nodes.map((node) => node.parameters.reduce((sum, { shape }) => sum + elementCount(shape), 0))
  const perOutput = nodes.map((_, index) => 1 + parameters[index]! / channels[index]!)
  const weights = parameters.reduce((sum, count) => sum + count, 0)
  return (grid: Grid): Proxy => {
    const [B, H, W] = [extents('B', grid.B), extents('H', grid.H), extents('W', grid.W)]
    let [elements, operations, before] = [0, weights * operationsPerWeight, 0]
    for (let index = 0; index < nodes.length; index++) {
      const outputs = channels[index]! * B[index]! * H[index]! * W[index]!
      elements = Math.max(elements, before + outputs)
      operations += 4 * perOutput[index]! * outputs
      before = outputs
    }
    return { grid, elements, operations: operations * tileCount(grid) }
  }
}

/**
 * Grids worth trying for a segment (Xu 2022, section 4.3: the search over tile counts), coarse to
 * fine: each next one has smaller tiles and does more in all, by what its shapes say. A batch is
 * split first, since that costs no halo. `inRows`: of bands of rows alone.
 */
export const candidateGrids = (graph: Graph, span: Span, inRows: boolean): readonly Grid[] => {
  const nodes = graph.nodes.slice(span.from, span.to)
  const last = nodes[nodes.length - 1]!
  const allowed = fusibleTileAxes(graph, span)
  const extent = (axis: TileAxis): number => (allowed.includes(axis) ? ownedExtent(last, axis) : 1)
  const [batch, height, width] = [extent('B'), extent('H'), extent('W')]
  const splits = inRows ? [] : [...new Set([...upTo(batch), batch])].map((B): Grid => ({ B, H: 1, W: 1 }))
  const tiles = inRows
    ? upTo(height).map((H): Grid => ({ B: 1, H, W: 1 }))
    : upTo(height)
        .flatMap((H) => upTo(width).map((W): Grid => ({ B: batch, H, W })))
        .filter(({ H, W }) => H * W > 1 && aspect(height / H, width / W) <= Math.max(longestAspect, aspect(height, width)))
  const known = new Map<string, readonly number[]>()
  const extentsOf = (axis: TileAxis, count: number): readonly number[] => {
    const key = axis + count
    if (!known.has(key)) known.set(key, tileExtents(nodes, axis, count))
    return known.get(key)!
  }
  const proxies = [...splits, ...tiles].filter((grid) => tileCount(grid) > 1).map(makeProxyEstimator(nodes, extentsOf))
  proxies.sort((a, b) => a.operations - b.operations || a.elements - b.elements)
  let smallest = Infinity
  return proxies.flatMap(({ grid, elements }) => {
    if (elements >= smallest) return []
    smallest = elements
    return [grid]
  })
}
