import type { Segment } from '../plan'
import { tileCount, untiled, type Grid } from '../tiling'
import { checkpointsAsked, tilesAsked } from '../marks'
import { aligned } from '../placement/first-fit'
import { candidateGrids } from './grids'
import { checkpointPositions, outputBytes } from './find-segments'
import type { Strategy } from './strategy'
import { openContext } from '../lowering/lower'
import { openPool } from '../lowering/emitter'

/** A way to run the nodes between two positions; bytes beside what is resident or stands at its ends. */
interface Option {
  readonly segment: Segment
  readonly forwardBytes: number
  readonly backwardBytes: number
  readonly keptBytes: number
  readonly milliseconds: number
}

/** A plan of everything before a position: what it leaves in memory, what it costs in all. */
interface Label {
  readonly residentBytes: number
  readonly milliseconds: number
  readonly segments: readonly Segment[]
}

/** Grids kept from the first that fits on, by their distance to it: finer ones are for plans that leave a segment less. */
const kept = [0, 1, 2, 4, 8, 16, 32]

/** Labels kept at a position. */
const labelLimit = 48

const dominates = (a: Label, b: Label): boolean => a.residentBytes <= b.residentBytes && a.milliseconds <= b.milliseconds

const insert = (labels: readonly Label[], label: Label): readonly Label[] =>
  labels.some((other) => dominates(other, label)) ? labels : [...labels.filter((other) => !dominates(label, other)), label]

/** The fastest, and evenly many up to the leanest. */
const bounded = (labels: readonly Label[]): readonly Label[] => {
  if (labels.length <= labelLimit) return labels
  const sorted = [...labels].sort((a, b) => a.milliseconds - b.milliseconds)
  return Array.from({ length: labelLimit }, (_, index) => sorted[Math.round((index * (sorted.length - 1)) / (labelLimit - 1))]!)
}

const peakBytes = ({ forwardBytes, backwardBytes }: Option): number => Math.max(forwardBytes, backwardBytes)

/** Grids from the first that fits `available` bytes on; memory falls as grids get finer, so that one is found by bisection. */
const fittingGrids = (grids: readonly Grid[], available: number, optionOf: (grid: Grid) => Option | undefined): readonly Option[] => {
  let [low, high] = [0, grids.length]
  while (low < high) {
    const middle = (low + high) >> 1
    const option = optionOf(grids[middle]!)
    if (option !== undefined && peakBytes(option) > available) low = middle + 1
    else high = middle
  }
  return kept.flatMap((distance) => (low + distance < grids.length ? (optionOf(grids[low + distance]!) ?? []) : []))
}

const isKeptWhole = ({ grid, recompute }: Segment): boolean => !recompute && tileCount(grid) === 1

/** Neighbours that are both kept whole run as one would; only a checkpoint of the model's stays between them. */
const joined = (segments: readonly Segment[], asked: readonly number[]): readonly Segment[] =>
  segments.reduce<readonly Segment[]>((list, segment) => {
    const before = list[list.length - 1]
    return before !== undefined && isKeptWhole(before) && isKeptWhole(segment) && !asked.includes(segment.from)
      ? [...list.slice(0, -1), { ...before, to: segment.to }]
      : [...list, segment]
  }, [])

/**
 * Segmented fused-tiled execution (paper 002). Checkpoints stand where Listing 3 may put them for any capacity up to the
 * budget; for each segment the tile counts are searched; a shortest path over (position, bytes resident) picks the
 * checkpoints and grids of least predicted time. `checkpoint` and `tile` in the model are obeyed.
 */
export const sft: Strategy = ({ lowering, residentBytes, estimate }, budget) => {
  const { graph } = lowering
  const context = openContext(lowering, openPool())
  const sizes = outputBytes(context)
  const end = graph.nodes.length
  const positions = [0, ...checkpointPositions(graph, sizes, budget), end]
  const boundaryBytes = (position: number): number => (position === 0 || position === end ? 0 : aligned(sizes[position - 1]!))
  /** Nothing before the first node that learns has gradients, nor a use for its tensors once the next segment has run. */
  const gradientBytes = (position: number): number => (position > context.firstLearning ? boundaryBytes(position) : 0)
  const asked = checkpointsAsked(graph)
  const tiled = tilesAsked(graph)

  const optionsBetween = (from: number, to: number, available: number): readonly Option[] => {
    const isLast = to === end
    const optionOf = (grid: Grid, recompute: boolean, reorder: Segment['reorder'] = 'once'): Option | undefined => {
      const segment = { from, to, grid, recompute, reorder }
      const estimated = estimate(segment)
      return estimated && { segment, ...estimated }
    }
    const wanted = tiled.find((span) => span.from === from && span.to === to)
    if (wanted !== undefined) return [optionOf(wanted.grid, !isLast || tileCount(wanted.grid) > 1)].flatMap((option) => option ?? [])
    const whole = [optionOf(untiled, false), ...(isLast ? [] : [optionOf(untiled, true)])].flatMap((option) => option ?? [])
    const lean = fittingGrids(candidateGrids(graph, { from, to }), available, (grid) => optionOf(grid, true, 'each-tile'))
    const quick = lean.flatMap(({ segment }) => optionOf(segment.grid, true, 'once') ?? [])
    return [...whole, ...lean, ...quick]
  }

  const labels = new Map<number, readonly Label[]>([[0, [{ residentBytes, milliseconds: 0, segments: [] }]]])
  for (const from of positions)
    for (const to of positions.filter((position) => position > from && !asked.some((at) => from < at && at < position))) {
      const starting = labels.get(from) ?? []
      if (starting.length === 0) continue
      const leanest = Math.min(...starting.map((label) => label.residentBytes))
      const gradients = gradientBytes(from) + gradientBytes(to)
      const frozen = to <= context.firstLearning
      const available = budget - leanest - gradients
      if (available <= 0) continue
      for (const option of optionsBetween(from, to, available))
        for (const label of starting) {
          const outputWhileBackward = option.segment.recompute ? 0 : boundaryBytes(to)
          const forward = label.residentBytes + boundaryBytes(to) + option.forwardBytes
          const backward = frozen ? 0 : label.residentBytes + outputWhileBackward + gradients + option.backwardBytes
          if (Math.max(forward, backward) > budget) continue
          const reached: Label = {
            residentBytes: label.residentBytes + boundaryBytes(to) + option.keptBytes - (frozen ? boundaryBytes(from) : 0),
            milliseconds: label.milliseconds + option.milliseconds,
            segments: [...label.segments, option.segment]
          }
          labels.set(to, bounded(insert(labels.get(to) ?? [], reached)))
        }
    }
  const [best] = [...(labels.get(end) ?? [])].sort((a, b) => a.milliseconds - b.milliseconds)
  return best === undefined ? [] : [joined(best.segments, asked), best.segments]
}
