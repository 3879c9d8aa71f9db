import * as E from 'fp-ts/Either'
import { inputError, type StagingError } from './error'
import type { Graph } from './graph'
import { tilesAsked } from './marks'
import type { Segment } from './plan'
import { tileAxes } from './program'
import { fusedTiledAxes, nodeWithoutInput, segmentTiling, tileCount } from './tiling'

/** A graph that can run, whole and with the tiles that its model asks for: every layer of every tile must see some of its input. */
export const checkInputs = (graph: Graph): E.Either<StagingError, Graph> => {
  const where = `${graph.model} on ${graph.input.join('x')}`
  const node = nodeWithoutInput(graph, { from: 0, to: graph.nodes.length })
  if (node !== undefined)
    return E.left(
      inputError(`${where}: ${node.name}: ${node.op}: sees nothing but padding; give it less padding or a larger input.`, node.name)
    )
  const asked = tilesAsked(graph).find((span) => segmentTiling(graph, span, span.grid) === undefined)
  if (asked === undefined) return E.right(graph)
  const [first, last] = [graph.nodes[asked.from]!.name, graph.nodes[asked.to - 1]!.name]
  const { B, H, W } = asked.grid
  return E.left(
    inputError(`${where}: tile: of ${B}x${H}x${W} tiles from ${first} to ${last} some see nothing but padding; take fewer tiles.`, first)
  )
}

const reasonAgainst = (graph: Graph, segment: Segment, expectedFrom: number): string | undefined => {
  const { from, to, grid, recompute } = segment
  const ops = graph.nodes.length
  if (from !== expectedFrom) return `it starts at ${from}, but the one before ends at ${expectedFrom}`
  if (!Number.isInteger(to) || to <= from || to > ops) return `it must end after ${from} and at ${ops} at the latest`
  const allowed = fusedTiledAxes(graph, segment)
  const forbidden = tileAxes.find((axis) => grid[axis] !== 1 && !allowed.includes(axis))
  if (forbidden !== undefined) return `it cannot be tiled along ${forbidden}; it allows ${allowed.join(' ') || 'no tiling'}`
  if (tileAxes.some((axis) => !Number.isInteger(grid[axis]) || grid[axis] < 1)) return 'its tile counts must be whole numbers above zero'
  if (segmentTiling(graph, segment, grid) === undefined) return 'some of its tiles see nothing but padding; take fewer tiles'
  if (tileCount(grid) > 1 && !recompute && to !== ops) return 'what is tiled is recomputed in backward; recompute must be true'
  return undefined
}

/** Segments that a person wrote: they must follow each other from the first op to the last and be tiled only where that is exact. */
export const checkSegments = (graph: Graph, segments: readonly Segment[]): E.Either<StagingError, readonly Segment[]> => {
  let expected = 0
  for (const segment of segments) {
    const reason = reasonAgainst(graph, segment, expected)
    if (reason !== undefined)
      return E.left(inputError(`segment ${segment.from}..${segment.to}: ${reason}.`, graph.nodes[segment.from]?.name))
    expected = segment.to
  }
  return expected === graph.nodes.length
    ? E.right(segments)
    : E.left(inputError(`the segments end at ${expected}, but ${graph.model} has ${graph.nodes.length} ops, its loss included.`))
}
