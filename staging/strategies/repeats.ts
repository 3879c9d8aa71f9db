import type { Graph } from '../graph'
import type { Segment } from '../plan'
import { repeatMistake } from '../streams'
import { endsOf } from '../tiling'
import { isCut } from './find-segments'
import type { Search, Segmentation } from './strategy'

/** Segments from .. to - 1 that run forward again before the backward of the one at `to`. */
interface Group {
  readonly from: number
  readonly to: number
  /** What is not kept then, and how long they take by themselves. */
  readonly bytes: number
  readonly nanoseconds: number
}

/** As many blocks, each from one tensor alone to the next, that run forward again as one. */
const groupSizes = [1, 2, 4, 8]

const repeating = (segments: Segmentation, groups: readonly Group[]): Segmentation =>
  segments.map((segment, place): Segment => {
    const isInside = groups.some(({ from, to }) => from <= place && place < to)
    return isInside ? { ...segment, recompute: true, repeats: true } : segment
  })

/** The places of the segments at which blocks end. */
const blockEnds = (graph: Graph, segments: Segmentation): readonly number[] =>
  segments.flatMap(({ to }, place) => (to < graph.nodes.length && isCut(graph, to) ? [place] : []))

/**
 * A segmentation that keeps no more than `capacity` bytes from forward to backward, wherever they are: whole blocks keep nothing but their
 * output and run forward again (paper 002's checkpoints, for what cannot be computed again tile by tile since statistics stand between).
 * Those come first that keep most for the time that they take. Undefined where nothing is kept too much, or nothing does.
 */
export const withRepeats = (
  { lowering: { graph }, estimate }: Search,
  segments: Segmentation,
  tensorBytes: (tensor: number) => number,
  onHost: ReadonlySet<number>,
  capacity: number
): Segmentation | undefined => {
  const outputBytes = (segment: Segment): number => endsOf(graph, segment).outputs.reduce((sum, tensor) => sum + tensorBytes(tensor), 0)
  const kept = segments.map(
    (segment) => outputBytes(segment) + (segment.recompute ? 0 : (estimate(segment, onHost)?.bytes().keptBytes ?? 0))
  )
  const sumOf = (list: readonly number[]): number => list.reduce((sum, one) => sum + one, 0)
  const all = sumOf(kept)
  if (all <= capacity) return undefined
  const ends = blockEnds(graph, segments)
  for (const size of groupSizes) {
    const groups = ends.flatMap((end, index): readonly Group[] => {
      if ((index + 1) % size !== 0) return []
      const from = (ends[index - size] ?? -1) + 1
      if (from >= end) return []
      const inside = segments.slice(from, end)
      const nanoseconds = sumOf(inside.map((segment) => estimate(segment, onHost)?.nanoseconds() ?? Infinity))
      const group = { from, to: end, bytes: sumOf(kept.slice(from, end)), nanoseconds }
      const repeated = repeating(segments, [group])
      return inside.every((_, place) => repeatMistake(graph, repeated, from + place) === undefined) ? [group] : []
    })
    groups.sort((a, b) => a.nanoseconds / a.bytes - b.nanoseconds / b.bytes)
    let [left, taken] = [all, 0]
    while (left > capacity && taken < groups.length) left -= groups[taken++]!.bytes
    if (left <= capacity) return repeating(segments, groups.slice(0, taken))
  }
  return undefined
}
