import type { Segment } from '../plans/plan'
import type { Span } from '../graph/span'
import { validateRematerialize } from '../plans/host-tensors'
import { boundaryTensors } from '../graph/boundary-tensors'
import type { Search, Segmentation } from './strategy'

/**
 * Groups, each of segments from .. to - 1 that run forward again before the backward of the one at
 * `to`.
 */
interface Choice {
  readonly groups: readonly Span[]
  /** What is kept then, and how long the groups take by themselves. */
  readonly keptBytes: number
  readonly nanoseconds: number
}

/** As many segments run forward again together. */
const groupSizes = [1, 2, 3, 4, 6, 8, 12]

/** Of what is kept where nothing runs forward again, from much to little. */
const keptShares = Array.from({ length: 10 }, (_, index) => 0.85 ** (index + 1))

const sumAll = (list: readonly number[]): number => list.reduce((sum, one) => sum + one, 0)

const repeating = (segments: Segmentation, groups: readonly Span[]): Segmentation =>
  segments.map((segment, place): Segment => {
    const isInside = groups.some(({ from, to }) => from <= place && place < to)
    return isInside ? { ...segment, recompute: true, rematerialize: true } : segment
  })

/**
 * Segmentations that keep fewer and fewer bytes from forward to backward, wherever they are: groups
 * of segments keep nothing that leaves them but for the last one's, and run forward again (Chen et
 * al.'s checkpoints, for what cannot be computed again tile by tile since statistics stand
 * between). Those come first that keep most for the time that they take.
 */
export const withRematerialization = (
  { graph, estimate }: Search,
  segments: Segmentation,
  tensorBytes: (tensor: number) => number,
  onHost: ReadonlySet<number>
): readonly Segmentation[] => {
  const outputBytes = (segment: Segment): number =>
    boundaryTensors(graph, segment).outputs.reduce((sum, tensor) => sum + tensorBytes(tensor), 0)
  const kept = segments.map(
    (segment) => outputBytes(segment) + (segment.recompute ? 0 : (estimate(segment, onHost)?.bytes().keptBytes ?? 0))
  )
  const all = sumAll(kept)
  const times = segments.map((segment) => estimate(segment, onHost)?.nanoseconds() ?? Infinity)
  const isValid = ({ from, to }: Span): boolean => {
    const repeated = repeating(segments, [{ from, to }])
    return segments.slice(from, to).every((_, place) => validateRematerialize(graph, repeated, from + place) === undefined)
  }
  /** One after the other, each with the segment before whose backward it runs again. */
  const groupsOf = (size: number, from = 0): readonly Span[] => {
    if (from + size >= segments.length) return []
    const group = { from, to: from + size }
    return isValid(group) ? [group, ...groupsOf(size, group.to + 1)] : groupsOf(size, from + 1)
  }
  /** None of the groups of a size, the best of them, and so on. */
  const choicesOf = (size: number): readonly Choice[] =>
    groupsOf(size)
      .map(({ from, to }) => ({ from, to, bytes: sumAll(kept.slice(from, to)), nanoseconds: sumAll(times.slice(from, to)) }))
      .sort((a, b) => a.nanoseconds / a.bytes - b.nanoseconds / b.bytes)
      .reduce<readonly Choice[]>(
        (choices, { bytes, nanoseconds, ...span }) => {
          const before = choices[choices.length - 1]!
          return [
            ...choices,
            { groups: [...before.groups, span], keptBytes: before.keptBytes - bytes, nanoseconds: before.nanoseconds + nanoseconds }
          ]
        },
        [{ groups: [], keptBytes: all, nanoseconds: 0 }]
      )
  const choices = groupSizes.flatMap(choicesOf).sort((a, b) => a.nanoseconds - b.nanoseconds)
  const taken = keptShares.flatMap((share) => choices.find(({ keptBytes }) => keptBytes <= share * all) ?? [])
  return [...new Set(taken)].map(({ groups }) => repeating(segments, groups))
}
