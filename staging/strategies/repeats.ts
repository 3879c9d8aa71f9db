import type { Segment } from '../plan'
import { repeatMistake } from '../streams'
import { endsOf } from '../tiling'
import type { Search, Segmentation } from './strategy'

/** Segments from .. to - 1 that run forward again before the backward of the one at `to`. */
interface Group {
  readonly from: number
  readonly to: number
  /** What is not kept then, and how long they take by themselves. */
  readonly bytes: number
  readonly nanoseconds: number
}

/** As many segments run forward again together. */
const groupSizes = [1, 2, 3, 4, 6, 8, 12]

const sumOf = (list: readonly number[]): number => list.reduce((sum, one) => sum + one, 0)

const repeating = (segments: Segmentation, groups: readonly Group[]): Segmentation =>
  segments.map((segment, place): Segment => {
    const isInside = groups.some(({ from, to }) => from <= place && place < to)
    return isInside ? { ...segment, recompute: true, repeats: true } : segment
  })

/**
 * A segmentation that keeps no more than `capacity` bytes from forward to backward, wherever they are: groups of segments keep nothing that
 * leaves them but for the last one's, and run forward again (Chen et al.'s checkpoints, for what cannot be computed again tile by tile since
 * statistics stand between). Those come first that keep most for the time that they take. Undefined where nothing is kept too much, or
 * nothing does.
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
  const all = sumOf(kept)
  if (all <= capacity) return undefined
  const times = segments.map((segment) => estimate(segment, onHost)?.nanoseconds() ?? Infinity)
  const groupOf = (from: number, to: number): Group => {
    return { from, to, bytes: sumOf(kept.slice(from, to)), nanoseconds: sumOf(times.slice(from, to)) }
  }
  const isValid = (group: Group): boolean => {
    const repeated = repeating(segments, [group])
    return segments.slice(group.from, group.to).every((_, place) => repeatMistake(graph, repeated, group.from + place) === undefined)
  }
  /** One after the other, each with the segment before whose backward it runs again. */
  const groupsOf = (size: number, from = 0): readonly Group[] => {
    if (from + size >= segments.length) return []
    const group = groupOf(from, from + size)
    return isValid(group) ? [group, ...groupsOf(size, group.to + 1)] : groupsOf(size, from + 1)
  }
  const answers = groupSizes.flatMap((size) => {
    const groups = [...groupsOf(size)].sort((a, b) => a.nanoseconds / a.bytes - b.nanoseconds / b.bytes)
    const left = groups.reduce<readonly number[]>((sums, { bytes }) => [...sums, sums[sums.length - 1]! - bytes], [all])
    const count = left.findIndex((bytes) => bytes <= capacity)
    const taken = groups.slice(0, count)
    return count === -1 ? [] : [{ taken, nanoseconds: sumOf(taken.map(({ nanoseconds }) => nanoseconds)) }]
  })
  const best = answers.reduce<(typeof answers)[number] | undefined>(
    (least, one) => (least === undefined || one.nanoseconds < least.nanoseconds ? one : least),
    undefined
  )
  return best && repeating(segments, best.taken)
}
