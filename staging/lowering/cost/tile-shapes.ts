import { readInterval } from '../../graph/axis-access'
import type { Interval } from '../../graph/interval'
import type { Span } from '../../graph/span'
import type { StepGraph } from '../../graph/step-graph'
import type { TileRun } from '../../graph/tile-runs'

/**
 * By place in a span, a number for how a run along an axis lies there: the same for ops as far from
 * the ends of spans that see it alike.
 */
export type RunShapes = (span: Span, axis: number, run: TileRun) => readonly number[]

/** More than there are ways in which runs along an axis lie for an op. */
const shapeLimit = 2 ** 17

const extent = ({ from, to }: Interval): number => to - from

/** How a run along an axis lies for each op of a span: what its launches depend on, as numbers. */
export const createShapes = ({ nodes }: StepGraph): RunShapes => {
  /** By axis and place from the end of a span, as they are compared. */
  const numbers = new Map<number, Map<string, number>>()
  const known = new WeakMap<TileRun, readonly number[]>()
  const numberOf = (axis: number, fromEnd: number, key: string): number => {
    const place = 3 * fromEnd + axis
    const own = numbers.get(place) ?? new Map<string, number>()
    numbers.set(place, own)
    const number = own.get(key) ?? own.size
    if (number >= shapeLimit) throw new Error(`runs lie in more than ${shapeLimit} ways`)
    own.set(key, number)
    return number
  }
  return ({ from, to }, axis, run) => {
    const found = known.get(run)
    if (found !== undefined) return found
    const { readings, held, owned, advances } = run
    const placeIn = (tensor: number, { from: first, to: end }: Interval): readonly number[] => [first - held.get(tensor)!.from, end - first]
    const shapes = nodes.slice(from, to).map(({ inputs }, index) => {
      const [tensor, reading] = [from + index + 1, readings[index]!]
      const { padBefore, padAfter, overhang } = reading
      const parts = [padBefore, padAfter, overhang, extent(held.get(tensor)!)]
      const part = owned.get(tensor)
      parts.push(...(part === undefined ? [-1] : placeIn(tensor, part)))
      for (const input of inputs) parts.push(extent(held.get(input)!), ...placeIn(input, readInterval(reading, input)))
      // Along the batch what a tile holds may be seen where it begins.
      if (axis === 0) for (const one of [tensor, ...inputs]) parts.push(held.get(one)!.from, advances.get(one)!)
      return numberOf(axis, to - from - index, parts.join())
    })
    known.set(run, shapes)
    return shapes
  }
}

/** By place in a span, a number for how a tile lies there, of its runs along the three axes. */
export const tileShapes = (shapesOf: RunShapes, span: Span, runs: readonly TileRun[]): readonly number[] => {
  const [batch, rows, columns] = runs.map((run, axis) => shapesOf(span, axis, run))
  return batch!.map((shape, place) => (shape * shapeLimit + rows![place]!) * shapeLimit + columns![place]!)
}
