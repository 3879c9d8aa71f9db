import { gathersMoments } from '../../graph/normalisation'
import type { Segment } from '../../plans/plan'
import { endsOnHost, streamedBy } from '../../plans/host-tensors'
import { endsOf, type SegmentTiling } from '../../graph/tiling'
import type { Boundary, Stream } from '../tile/bound-segment'
import type { ModelScope } from '../scope/scope'
import { passOf } from '../tile/pass'
import { bodiesOf, emitForward, type SegmentCode } from './segment'
import { expectPending, readingOf, regularRuns, streamsOf, type IntervalOf } from '../tile/host-rows'
import { wholeTensor } from '../scope/copies'
import type { WholeTensor } from '../ir/tile-tensor'

const outputOf = (scope: ModelScope, tensor: number): WholeTensor =>
  wholeTensor(scope, tensor, `the output of ${scope.graph.nodes[tensor - 1]!.name}`, 'boundary')

/** Places for whole tensors between segments. */
export const boundariesOf = (scope: ModelScope, tensors: Iterable<number>): Map<number, Boundary> => {
  const open = (tensor: number): Boundary => {
    const { name } = scope.graph.nodes[tensor - 1]!
    return {
      tensor: outputOf(scope, tensor),
      gradient: scope.requiresGrad[tensor]!
        ? wholeTensor(scope, tensor, `the gradient of the output of ${name}`, 'output-gradient')
        : undefined
    }
  }
  return new Map([...tensors].filter((tensor) => tensor > 0).map((tensor) => [tensor, open(tensor)]))
}

interface Between {
  readonly boundaries: Map<number, Boundary>
  readonly streams: ReadonlyMap<number, Stream>
}

/** Of the tensors that leave any of the segments. */
export const allBetween = (scope: ModelScope, segments: readonly Segment[]): Between => {
  const streams = streamsOf(scope, segments.flatMap(streamedBy))
  const leaving = new Set(segments.flatMap((segment) => endsOf(scope.graph, segment).outputs))
  return {
    boundaries: boundariesOf(
      scope,
      [...leaving].filter((tensor) => !streams.has(tensor))
    ),
    streams
  }
}

export const bindSegment = (scope: ModelScope, segment: Segment, tiling: SegmentTiling, between: Between): SegmentCode => ({
  segment,
  bodies: bodiesOf(inBands(scope, segment, tiling, between.streams)),
  ends: endsOf(scope.graph, segment),
  ...between
})

/**
 * Segments forward once more, to new places, for the backward of the segment `before` which they stand and for their own: what forward
 * made is no longer there. What nothing reads is not made.
 */
export const repeatForward = (scope: ModelScope, codes: readonly SegmentCode[], before: SegmentCode, between: Between): void => {
  const wanted = new Set<number>()
  const want = (code: SegmentCode, mode: 'recompute' | 'repeat'): void => {
    const { isRead } = passOf(scope, { ...code, wanted }, mode)
    code.ends.inputs.filter(isRead).forEach((tensor) => wanted.add(tensor))
  }
  // What is kept has its inputs, and what learns nothing has no backward.
  const readsAgain = ({ segment: { from, to, recompute } }: SegmentCode): boolean =>
    recompute && scope.requiresGrad.slice(from + 1, to + 1).some((wants) => wants)
  for (const code of [...codes, before].filter(readsAgain)) want(code, 'recompute')
  for (const code of [...codes].reverse()) want(code, 'repeat')
  for (const code of codes) if (code.ends.outputs.some((tensor) => wanted.has(tensor))) repeatOne(scope, { ...code, wanted }, between)
}

const repeatOne = (scope: ModelScope, code: SegmentCode, { boundaries, streams }: Between): void => {
  for (const tensor of code.ends.outputs) {
    const boundary = boundaries.get(tensor)
    if (boundary === undefined) streams.get(tensor)!.reopen()
    else boundaries.set(tensor, { ...boundary, tensor: outputOf(scope, tensor) })
  }
  emitForward(scope, code, 'repeat')
}

/** Tiles of which each run leaves the same of the gradients that go to the host. */
const inBands = ({ graph }: ModelScope, segment: Segment, tiling: SegmentTiling, streams: Between['streams']): SegmentTiling => {
  const bands = endsOf(graph, segment)
    .inputs.filter((tensor) => streams.get(tensor)?.gradient !== undefined)
    .flatMap((tensor) => {
      const held: IntervalOf = (run) => run.held.get(tensor)!
      const normalising = graph.readers[tensor]!.filter((reader) => reader < segment.to && gathersMoments(graph.nodes[reader]!))
      return [held, ...normalising.map((reader) => readingOf(segment, reader))].map((intervalOf) => ({ tensor, intervalOf }))
    })
  return bands.length === 0 ? tiling : { ...tiling, H: regularRuns(graph, segment, tiling.H, bands) }
}

/** A segment by itself, with whole tensors at its ends, but for those that are `streamed`. */
export const bindAlone = (scope: ModelScope, segment: Segment, tiling: SegmentTiling, streamed: ReadonlySet<number>): SegmentCode => {
  const { inputs, outputs } = endsOf(scope.graph, segment)
  const streams = streamsOf(scope, endsOnHost(scope.graph, segment, streamed))
  outputs.forEach((tensor) => expectPending(scope, streams.get(tensor), tensor))
  return bindSegment(scope, segment, tiling, {
    boundaries: boundariesOf(
      scope,
      [...inputs, ...outputs].filter((tensor) => !streamed.has(tensor))
    ),
    streams
  })
}
