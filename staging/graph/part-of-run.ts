import type { ReadInterval } from './axis-access'
import type { Graph } from './graph'
import type { Interval } from './interval'
import type { TileRun } from './tile-runs'

/** `count` tiles of a run, from `first` on, of a segment that begins at the position `from`. */
export const partOfRun = (graph: Graph, from: number, run: TileRun, first: number, count: number): TileRun => {
  const by = (tensor: number, interval: Interval): Interval => {
    const distance = first * run.advances.get(tensor)!
    return { from: interval.from + distance, to: interval.to + distance }
  }
  const moved = (intervals: ReadonlyMap<number, Interval>): ReadonlyMap<number, Interval> =>
    new Map([...intervals].map(([tensor, interval]) => [tensor, by(tensor, interval)]))
  const readings = run.readings.map((reading, index): ReadInterval => {
    return { ...reading, interval: by(graph.nodes[from + index]!.inputs[0]!, reading.interval) }
  })
  return { ...run, count, readings, held: moved(run.held), owned: moved(run.owned) }
}
