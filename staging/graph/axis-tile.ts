import type { TileAxis } from '../program/program'
import { memoizePerObject } from '../memoize'
import { boundaryTensors } from './boundary-tensors'
import { axisIndex, extentsOfTensor, reduces, type Graph } from './graph'
import { ownedExtent } from './grid'
import { partition, partitionAlongside, unionInterval, type Interval, type Partition } from './interval'
import { inputInterval, readInterval, single, unpadded, withLeftover, type ReadInterval } from './axis-access'
import type { Span } from './span'
import { accumulatesMoments } from './statistics'

/**
 * One tile along one dimension: what each op of the segment reads, and what of each tensor is held
 * (Xu 2022, Listing 4).
 */
export interface AxisTile {
  readonly readings: readonly ReadInterval[]
  readonly held: ReadonlyMap<number, Interval>
  readonly owned: ReadonlyMap<number, Interval>
}

/** By tensor, its parts along an axis, one a tile. */
export type OwnedParts = ReadonlyMap<number, Partition>

const ownedPartsAlong = (graph: Graph, span: Span, axis: TileAxis, tiles: number): OwnedParts => {
  const last = graph.nodes[span.to - 1]!
  const parts = partition(ownedExtent(last, axis), tiles)
  const summed = graph.nodes.slice(span.from, span.to).flatMap((node) => (reduces(node, axis) ? node.inputs : []))
  const leaving = boundaryTensors(graph, span).outputs.filter((tensor) => !reduces(graph.nodes[tensor - 1]!, axis))
  // Moments are those of all elements, and so are the gradients that depend on them, whatever else
  // reads them.
  const normalised = graph.nodes.slice(span.from, span.to).flatMap((node, index) => {
    const isMadeHere = node.inputs[0]! > span.from || node.inputs[0] === 0
    return accumulatesMoments(node) && (isMadeHere || parts.count === 1) ? [...node.inputs, span.from + index + 1] : []
  })
  return new Map(
    [...summed, ...leaving, ...normalised].map((tensor) => [
      tensor,
      partitionAlongside(extentsOfTensor(graph, tensor)[axisIndex[axis]], parts)
    ])
  )
}

/** What is partitioned along an axis: each tensor's parts, one a tile; remembered for all ranks. */
export const ownedParts = memoizePerObject(
  (_: Graph, span: Span, axis: TileAxis, tiles: number) => [span.from, span.to, axis, tiles].join(),
  ownedPartsAlong
)

/** The parts of one tile. */
export const partsOfTile = (parts: OwnedParts, index: number): ReadonlyMap<number, Interval> =>
  new Map([...parts].map(([tensor, { part }]) => [tensor, part(index)]))

/**
 * What the ops of a span read and hold along an axis, found backwards from the `parts` of its
 * outputs that a tile makes (Xu 2022, Listing 4).
 */
export const axisTile = (graph: Graph, span: Span, axis: TileAxis, parts: ReadonlyMap<number, Interval>): AxisTile => {
  const [held, owned] = [new Map(parts), new Map(parts)]
  const readings: ReadInterval[] = []
  for (let position = span.to - 1; position >= span.from; position--) {
    const node = graph.nodes[position]!
    if (reduces(node, axis)) {
      held.set(position + 1, single)
      owned.set(position + 1, single)
    } else if (!held.has(position + 1)) held.set(position + 1, { from: 0, to: node.output[axisIndex[axis]] })
    const reading = reduces(node, axis)
      ? unpadded(parts.get(node.inputs[0]!)!)
      : inputInterval(node.access[axis], held.get(position + 1)!, node.input[axisIndex[axis]])
    const whole = node.broadcast && axis !== 'B' ? { ...reading, broadcast: node.inputs[1]! } : reading
    readings.unshift(whole)
    for (const tensor of node.inputs) {
      const [before, read] = [held.get(tensor), readInterval(whole, tensor)]
      held.set(tensor, before === undefined ? read : unionInterval(before, read))
    }
  }
  const all = readings.map((reading, index) => {
    const { access, inputs } = graph.nodes[span.from + index]!
    return withLeftover(access[axis], reading, held.get(inputs[0]!)!)
  })
  return { readings: all, held, owned }
}
