import { isDeepStrictEqual } from 'node:util'
import type { Graph } from '../graph'
import { lazilyBy } from '../lazily'
import { openPool } from '../lowering/emitter'
import { openContext } from '../lowering/lower'
import { tilesAsked } from '../marks'
import { aligned } from '../placement/placement'
import { poolBeforeRectifying } from '../order'
import { outputBytes } from './find-segments'
import { noWait, peakOf, targets, withSchedules } from './host-stays'
import { withRepeats } from './repeats'
import { fastestWithin } from './sft'
import type { Search, Segmentation, Strategy } from './strategy'

/** Bytes for a segment beside what is resident, from little to much: each next one a half more, and the last enough for all in one. */
const segmentTargets = ({ residentBytes, timeline }: Search, whole: Segmentation): readonly number[] => {
  const seen = timeline(whole)
  const most = Math.max(...seen.stages.map(({ bytes }) => bytes), residentBytes + 1)
  const rests = [Math.max(most, peakOf(seen, []))]
  for (let rest = most; rests.length <= mostTargets; rest /= growth) rests.push(rest)
  return rests.reverse().map((rest) => residentBytes + rest)
}

const growth = 1.5
const mostTargets = 14

/** Of the host's budget, for what is kept: two or three gradients, and what runs forward again, take the rest. */
const hostShares = [0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.6]

/** Larger tensors are on the host: of bytes for a segment, what its input, output and their gradients may take each; rounded, as few differ. */
const thresholdFor = (bytes: number): number => 2 ** Math.floor(Math.log2(bytes / 6))

/** Tensors of more than so many bytes that can pass in bands of rows. */
const streamable = (graph: Graph, sizes: readonly number[], bytes: number): ReadonlySet<number> =>
  new Set(
    tilesAsked(graph).length > 0
      ? []
      : graph.nodes.flatMap(({ access, output }, position) =>
          sizes[position]! > bytes && output[2] > 1 && access.H.kind !== 'reduce' ? [position + 1] : []
        )
  )

/** Numbers of bytes for which the transfers of one segmentation are scheduled. */
const scheduleCount = 12

/**
 * sft without memory for what is kept from forward to backward: for each target the segments of least time whose own tensors fit it. What
 * stands between them waits on the host by ordered no-wait schedules (paper 004, Proposition 1), so that tiles, recomputation and
 * transfers are decided together.
 */
export const sftOffload: Strategy = {
  order: poolBeforeRectifying,
  obeysMarks: true,
  kind: 'swapping',
  tiles: true,
  all: (search) => {
    const { lowering } = search
    const sizes = outputBytes(openContext(lowering, openPool()))
    const within = lazilyBy((largest: number) => {
      const onHost = streamable(lowering.graph, sizes, largest)
      const fastest = fastestWithin(search, onHost)
      const tensorBytes = (tensor: number): number => aligned(sizes[tensor - 1]!)
      const repeated = (segments: Segmentation): readonly Segmentation[] =>
        hostShares.flatMap((share) => {
          const one = withRepeats(search, segments, tensorBytes, onHost, share * search.hostBudget)
          return one === undefined ? [] : [one]
        })
      return (target: number): readonly Segmentation[] => fastest(target).flatMap((segments) => [segments, ...repeated(segments)])
    })
    const whole = [{ from: 0, to: lowering.graph.nodes.length, grid: { B: 1, H: 1, W: 1 }, recompute: false, reorder: 'once' }] as const
    const segmentations = segmentTargets(search, whole)
      .flatMap((target) => [Infinity, thresholdFor(target - search.residentBytes)].flatMap((largest) => within(largest)(target)))
      .reduce<readonly Segmentation[]>(
        (found, segments) => (found.some((one) => isDeepStrictEqual(one, segments)) ? found : [...found, segments]),
        []
      )
    return segmentations.flatMap((segments) =>
      withSchedules(search, segments, (seen) => targets(seen, scheduleCount).map((target) => noWait(seen, seen.tensors, target)))
    )
  }
}
