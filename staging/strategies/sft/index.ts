import type { ModelScope } from '../../lowering/scope/scope'
import { createPool } from '../../lowering/ir/builder'
import { createModelScope } from '../../lowering/segment/create-scope'
import { isCast } from '../../lowering/scope/parameters'
import { requestedCheckpoints } from '../../graph/directives'
import { gathersStatistics } from '../../graph/statistics'
import { hoistPoolAboveRelu } from '../../graph/order'
import { alignUp } from '../../placement/placement'
import type { Span } from '../../graph/span'
import { liveTensors } from '../../graph/tiling'
import { checkpointPositions, isSingleTensorBoundary, outputBytes } from '../find-segments'
import { joinSegments } from './join-segments'
import { insert, roundBytes, segmentsOf, type Label } from './labels'
import { leastTimes, type LeastTime } from './least-times'
import { leastWeights } from './least-weights'
import { readBytesEstimator } from '../least-bytes'
import type { Search, Segmentation, Strategy } from '../strategy'
import { createSegmentOptions } from './segment-options'

/**
 * Where backward ends: the first node whose output's gradient is wanted, -1 where the input's is,
 * one past the last where none is.
 */
const firstTrainable = ({ requiresGrad }: Pick<ModelScope, 'requiresGrad'>): number => {
  const tensor = requiresGrad.indexOf(true)
  return (tensor === -1 ? requiresGrad.length : tensor) - 1
}

/**
 * What is nearly as fast as can be is looked for first: where there is none, little is lost, and
 * else slower ways are never looked at.
 */
const timesOfLeast = [1.02, 1.06, 1.15, 1.3, 1.6, 2.5, Infinity]

/** Blocks between statistics that are computed again as one, at most. */
const maxBlocks = 8

/** Where segments may begin and end. */
interface Spans {
  readonly positions: readonly number[]
  /** Where a segment that starts here may end. */
  readonly from: (start: number) => readonly number[]
  /** From each position to the end. */
  readonly leastNanoseconds: LeastTime
}

/**
 * Segmented fused-tiled execution (Xu 2022). Checkpoints stand where Listing 3 may put them for any
 * capacity up to the target; for each segment the tile counts are searched; a shortest path over
 * (position, bytes resident) picks the checkpoints and grids of least predicted time. `checkpoint`
 * and `tile` in the model are obeyed. Where what is kept waits on the host, the target is for each
 * segment by itself; the tensors `onHost` are there throughout, but for bands of rows. None where
 * all take more than `slowest` nanoseconds.
 */
export const fastestWithin = (
  search: Search,
  onHost?: ReadonlySet<number>
): ((target: number, slowest?: number) => readonly Segmentation[]) => {
  const { graph, device, persistentBytes } = search
  const scope = createModelScope(graph, device, createPool())
  const sizes = outputBytes(scope)
  const end = graph.nodes.length
  const asked = requestedCheckpoints(graph)
  const tensorBytes = (tensor: number): number => (onHost?.has(tensor) === true ? 0 : alignUp(sizes[tensor - 1]!))
  const hasGradient = (tensor: number): boolean => scope.requiresGrad[tensor]!
  const reorders = ({ from, to }: Span): boolean =>
    scope.parameters
      .slice(from, to)
      .some((both) => both?.weight !== undefined && (both.weight.layout !== both.weight.backwardLayout || isCast(scope, both.weight)))
  const statistics = new Set(graph.nodes.flatMap((node, position) => (gathersStatistics(node) ? [position] : [])))
  const positionsWithin = (target: number): readonly number[] => [0, ...checkpointPositions(graph, sizes, target, onHost), end]
  const segmentOptions = createSegmentOptions(search, positionsWithin(Infinity), {
    tensorBytes,
    hasGradient,
    onHost: onHost ?? new Set(),
    firstTrainable: firstTrainable(scope),
    reorders,
    leastWeights: leastWeights(scope),
    readBytes: readBytesEstimator(scope)
  })

  /**
   * The label of least time at the end that takes no more than `limit`; tiled are only segments
   * that start where `mayTile` says.
   */
  const fastest = (target: number, spans: Spans, limit: number, mayTile: (from: number) => boolean): Label | undefined => {
    const labels = new Map(spans.positions.map((position): [number, Label[]] => [position, []]))
    labels.get(0)!.push({ savedBytes: 0, nanoseconds: 0, last: undefined })
    for (const from of spans.positions)
      for (const to of spans.from(from)) {
        const { minNanoseconds, leastWithin, leastKeptBytes, within } = segmentOptions({ from, to })
        for (const before of labels.get(from)!) {
          const slack = limit - before.nanoseconds - spans.leastNanoseconds(to, before.savedBytes + leastKeptBytes)
          if (minNanoseconds > slack) continue
          const available = target - persistentBytes - before.savedBytes
          if (leastWithin(available) > slack) continue
          for (const { segment, keptBytes, nanoseconds } of within(available, mayTile(from) ? slack : -Infinity))
            insert(labels.get(to)!, {
              savedBytes: onHost === undefined ? roundBytes(before.savedBytes + keptBytes()) : 0,
              nanoseconds: before.nanoseconds + nanoseconds(),
              last: { segment, before }
            })
        }
      }
    return labels.get(end)!.at(-1)
  }

  const spansWithin = (target: number): Spans => {
    const positions = positionsWithin(target)
    const from = (start: number): readonly number[] => {
      const after = positions.filter((position) => position > start && !asked.some((at) => start < at && at < position))
      const barrier = after.find((position) => statistics.has(position)) ?? end
      const cuts = isSingleTensorBoundary(graph, start)
        ? after.filter((position) => isSingleTensorBoundary(graph, position)).slice(0, maxBlocks)
        : []
      // Tiles end where statistics are taken; beyond that only whole blocks are computed again.
      return after.filter((position) => position <= barrier || cuts.includes(position))
    }
    /** Beside the tensors that stand there, however it came to that. */
    const availableAt = (position: number): number =>
      target - persistentBytes - liveTensors(graph, position).reduce((sum, tensor) => sum + tensorBytes(tensor), 0)
    const leastNanoseconds = new Map([[end, 0]])
    for (const start of [...positions.slice(0, -1)].reverse())
      leastNanoseconds.set(
        start,
        Math.min(...from(start).map((to) => segmentOptions({ from: start, to }).leastWithin(availableAt(start)) + leastNanoseconds.get(to)!))
      )
    const optionsOf = (start: number, to: number) => segmentOptions({ from: start, to })
    // What waits on the host is not limited here.
    if (onHost !== undefined) return { positions, from, leastNanoseconds: (position) => leastNanoseconds.get(position)! }
    return { positions, from, leastNanoseconds: leastTimes({ positions, from, optionsOf }, leastNanoseconds, target - persistentBytes) }
  }

  return (target, slowest = Infinity) => {
    const spans = spansWithin(target)
    const least = spans.leastNanoseconds(0, 0)
    let best: Label | undefined
    for (const times of timesOfLeast) {
      const limit = Math.min(slowest, times * least)
      // Answers of the narrower searches keep the wider one from looking at what cannot be better.
      best = [() => false, (from: number) => from === 0, () => true].reduce<Label | undefined>(
        (found, mayTile) => fastest(target, spans, found?.nanoseconds ?? limit, mayTile) ?? found,
        undefined
      )
      if (best !== undefined || limit === slowest) break
    }
    if ((globalThis as any).DBG) console.error(target, least, best?.nanoseconds)
    if (best === undefined) return []
    const segments = segmentsOf(best)
    return [joinSegments(segments, asked, search.estimate), segments]
  }
}

export const sft: Strategy = {
  order: hoistPoolAboveRelu,
  obeysDirectives: true,
  kind: 'targeted',
  within: (search) => fastestWithin(search)
}
