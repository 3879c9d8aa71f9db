import { isDeepStrictEqual } from 'node:util'
import { type Segment } from '../../plans/plan'
import { tileCount } from '../../graph/span'
import type { Search, Segmentation } from '../strategy'

const isKeptWhole = ({ grid, recompute }: Segment): boolean => !recompute && tileCount(grid) === 1

/**
 * Two segments as one in which their convolutions run as they do; undefined where no workspace of
 * the two does for both.
 */
const asOne = (first: Segment, second: Segment, estimate: Search['estimate']): Segment | undefined => {
  const { winograd: _, slicedWinograd: __, normaliseOnLoad: ___, workspace: ____, ...both } = { ...first, to: second.to }
  const [winograd, slicedWinograd, normaliseOnLoad] = (['winograd', 'slicedWinograd', 'normaliseOnLoad'] as const).map((field) => [
    ...(first[field] ?? []),
    ...(second[field] ?? [])
  ])
  const limits = [first, second].flatMap(({ workspace }) => workspace ?? []).sort((a, b) => b - a)
  const figures = (segment: Segment) => {
    const { bytes, nanoseconds } = estimate(segment)!
    const { bytesDownTo: _, ...most } = bytes()
    return [most, nanoseconds()]
  }
  const runsAsBefore = (workspace: number) => (segment: Segment) =>
    segment.workspace === undefined || isDeepStrictEqual(figures({ ...segment, workspace }), figures(segment))
  const workspace = limits.find((limit) => [first, second].every(runsAsBefore(limit)))
  if (limits.length > 0 && workspace === undefined) return undefined
  return {
    ...both,
    ...(winograd!.length > 0 && { winograd: winograd! }),
    ...(slicedWinograd!.length > 0 && { slicedWinograd: slicedWinograd! }),
    ...(normaliseOnLoad!.length > 0 && { normaliseOnLoad: normaliseOnLoad! }),
    ...(workspace !== undefined && { workspace })
  }
}

/**
 * Neighbours that are both kept whole run as one would; only a checkpoint of the model's stays
 * between them.
 */
export const joinSegments = (segments: Segmentation, asked: readonly number[], estimate: Search['estimate']): Segmentation =>
  segments.reduce<Segmentation>((list, segment) => {
    const before = list[list.length - 1]
    const one =
      before !== undefined &&
      isKeptWhole(before) &&
      isKeptWhole(segment) &&
      before.hostTensors === undefined &&
      !asked.includes(segment.from)
        ? asOne(before, segment, estimate)
        : undefined
    return one === undefined ? [...list, segment] : [...list.slice(0, -1), one]
  }, [])
