import { type Graph, type Plan, type Segment, elementSizes, type Precision } from '../../staging'
import { inOrder } from '../../staging/graph/order'
import { allParts, partition } from '../../staging/graph/interval'
import { boundaryTensors } from '../../staging/graph/boundary-tensors'
import { ownedExtent } from '../../staging/graph/grid'
import type { TileRun } from '../../staging/graph/tile-runs'
import { segmentTiling } from '../../staging/graph/tiling'
import { extentsOfTensor } from '../../staging/graph/graph'
import { tilesText } from '../plans/plan-report'
import type { NetworkPart, SegmentPart, TilesAlong } from './report'

const axes = { H: 2, W: 3 } as const

/** Of each tile of some runs, the part of a tensor that it has. */
const parts = (runs: readonly TileRun[], partOf: (run: TileRun) => readonly [number, number], tensor: number) =>
  runs.flatMap((run) =>
    Array.from({ length: run.count }, (_, tile): readonly [number, number] => {
      const [from, to] = partOf(run)
      const moved = tile * (run.advances.get(tensor) ?? 0)
      return [from + moved, to + moved]
    })
  )

const tilesAlong = (graph: Graph, segment: Segment, axis: 'H' | 'W', runs: readonly TileRun[]): TilesAlong => {
  const input = boundaryTensors(graph, segment).inputs[0] ?? 0
  const held = parts(
    runs,
    (run) => {
      const { from, to } = run.held.get(input) ?? { from: 0, to: 0 }
      return [from, to]
    },
    input
  )
  const outputExtent = ownedExtent(graph.nodes[segment.to - 1]!, axis)
  return {
    outputExtent,
    inputExtent: extentsOfTensor(graph, input)[axes[axis]],
    owned: allParts(partition(outputExtent, held.length)).map(({ from, to }) => [from, to] as const),
    held
  }
}

const backwardText = (segment: Segment, isLast: boolean): string => {
  if (isLast) return 'backward at once'
  if (segment.rematerialize === true) return 'nothing kept, computed again'
  return segment.recompute ? 'inside computed again' : 'kept for backward'
}

const segmentPart = (graph: Graph, segment: Segment): SegmentPart => {
  const tiling = segmentTiling(graph, segment, segment.grid)!
  const [first, last] = [graph.nodes[segment.from]!.name, graph.nodes[segment.to - 1]!.name]
  return {
    from: segment.from,
    to: segment.to,
    text: first === last ? first : `${first} to ${last}`,
    tiles: tilesText(segment.grid),
    backward: backwardText(segment, segment.to === graph.nodes.length),
    height: tilesAlong(graph, segment, 'H', tiling.H),
    width: tilesAlong(graph, segment, 'W', tiling.W)
  }
}

/** The network in the order in which a plan runs it, its segments, and what their tiles hold. */
export const networkPart = (written: Graph, { order, segments }: Pick<Plan, 'order' | 'segments'>, precision: Precision): NetworkPart => {
  const graph = inOrder(written, order)
  const { activationBytes } = elementSizes(precision)
  const notes = new Map<number, readonly string[]>()
  for (const { winograd = [], slicedWinograd = [], hostTensors = [] } of segments) {
    const sliced = new Set(slicedWinograd)
    for (const position of winograd)
      notes.set(position, [...(notes.get(position) ?? []), sliced.has(position) ? 'Winograd in slices' : 'Winograd'])
    for (const position of hostTensors) notes.set(position, [...(notes.get(position) ?? []), 'output on the host'])
  }
  return {
    input: graph.input,
    layers: graph.nodes.map(({ name, op, inputs, output }, position) => ({
      name,
      op,
      inputs: inputs.map((tensor) => tensor - 1),
      output,
      outputBytes: output.reduce((all, extent) => all * extent, activationBytes),
      notes: notes.get(position) ?? []
    })),
    segments: segments.map((segment) => segmentPart(graph, segment))
  }
}
