import { wholeIdentity } from '../ir/buffer-identity'
import { accumulatesMoments } from '../../graph/statistics'
import type { Segment } from '../../plans/plan'
import { endsOnHost, listHostTensors } from '../../plans/host-tensors'
import { boundaryTensors } from '../../graph/boundary-tensors'
import { assumedSharing, readersInParts, sharedTensor, type SharedTensor } from '../../graph/shared-tensor'
import type { StepGraph } from '../../graph/step-graph'
import type { SegmentTiling } from '../../graph/tiling'
import type { Boundary, HostTensor, Pass } from '../tile/bound-segment'
import { type ModelScope, wantsGradient } from '../scope/scope'
import { rematerializingPass, segmentPasses } from '../tile/pass'
import { emitForward } from './forward'
import { enumerateBodies, type RowsOnTheWay, type SegmentCode } from './segment-code'
import { addPendingReductions, readIntervals, regularRuns, createHostTensors, type RunRows } from '../tile/host-rows'
import { wholeTensor } from '../scope/copies'
import { sumOverRanks } from './exchange-rows'
import type { WholeTensor } from '../ir/tile-tensor'

const makeOutput = (scope: ModelScope, tensor: number, shared: SharedTensor | undefined): WholeTensor =>
  wholeTensor(scope, tensor, wholeIdentity('output', scope.graph.nodes[tensor - 1]!.name), 'boundary', shared)

/** Places for whole tensors between segments. */
const makeBoundaries = (
  scope: ModelScope,
  segments: readonly Segment[],
  tensors: Iterable<number>,
  sharing: (tensor: number) => SharedTensor | undefined
): Map<number, Boundary> => {
  const open = (tensor: number): Boundary => {
    const { name } = scope.graph.nodes[tensor - 1]!
    const shared = scope.graph.shard && sharing(tensor)
    const readInParts = readersInParts(scope.graph, segments, tensor)
    const gradientOf = (): WholeTensor => {
      const gradient = wholeTensor(scope, tensor, wholeIdentity('output-gradient', name), 'output-gradient', shared)
      return shared === undefined && readInParts.length > 0 ? sumOverRanks(gradient) : gradient
    }
    return {
      tensor: makeOutput(scope, tensor, shared),
      gradient: scope.requiresGrad[tensor]! ? gradientOf() : undefined,
      shared,
      readInParts
    }
  }
  return new Map([...tensors].filter((tensor) => tensor > 0).map((tensor) => [tensor, open(tensor)]))
}

interface Boundaries extends Pick<SegmentCode, 'edgeTilesFirst' | 'rowsOnTheWay'> {
  readonly boundaries: Map<number, Boundary>
  readonly hostTensors: ReadonlyMap<number, HostTensor>
}

const noRowsOnTheWay = (): RowsOnTheWay => ({ outputs: new Map(), gradients: new Map() })

/** Returns the buffers of the tensors that leave any of the segments. */
export const createBoundaries = (scope: ModelScope, segments: readonly Segment[], edgeTilesFirst: boolean): Boundaries => {
  const hostTensors = createHostTensors(scope, segments.flatMap(listHostTensors))
  const leaving = new Set(segments.flatMap((segment) => boundaryTensors(scope.graph, segment).outputs))
  return {
    boundaries: makeBoundaries(
      scope,
      segments,
      [...leaving].filter((tensor) => !hostTensors.has(tensor)),
      (tensor) => sharedTensor(scope.graph, segments, tensor)
    ),
    hostTensors,
    edgeTilesFirst,
    rowsOnTheWay: noRowsOnTheWay()
  }
}

/** A segment with its tiles, and with what stands between it and others. */
export const bindSegment = (scope: ModelScope, segment: Segment, tiling: SegmentTiling, between: Boundaries): SegmentCode => ({
  segment,
  bodies: enumerateBodies(inBands(scope, segment, tiling, between.hostTensors)),
  ends: boundaryTensors(scope.graph, segment),
  passIn: segmentPasses(scope, segment, between.hostTensors),
  ...between
})

/** Runs a segment forward once more, to new places. */
const rematerializeSegment = (scope: ModelScope, code: SegmentCode, pass: Pass, { boundaries, hostTensors }: Boundaries): void => {
  for (const tensor of code.ends.outputs) {
    const boundary = boundaries.get(tensor)
    if (boundary === undefined) hostTensors.get(tensor)!.reopen()
    else boundaries.set(tensor, { ...boundary, tensor: makeOutput(scope, tensor, boundary.shared) })
  }
  emitForward(scope, code, pass)
}

/**
 * Segments forward once more, to new places, for the backward of the segment `before` which they
 * stand and for their own: what forward made is no longer there. What nothing reads is not made.
 */
export const rematerialize = (scope: ModelScope, codes: readonly SegmentCode[], before: SegmentCode, between: Boundaries): void => {
  const wanted = new Set<number>()
  const want = (code: SegmentCode, { isRead }: Pass): void => code.ends.inputs.filter(isRead).forEach((tensor) => wanted.add(tensor))
  // What is kept has its inputs, and what learns nothing has no backward.
  const readsAgain = ({ segment }: SegmentCode): boolean => segment.recompute && wantsGradient(scope, segment)
  for (const code of [...codes, before].filter(readsAgain)) want(code, code.passIn('recompute'))
  // From the last one on: by then all is known that is wanted of a segment.
  const passes = codes.map((): Pass | undefined => undefined)
  for (const [place, code] of [...codes.entries()].reverse()) {
    const pass = rematerializingPass(scope, code.segment, wanted)
    passes[place] = pass
    want(code, pass)
  }
  codes.forEach((code, place) => {
    if (code.ends.outputs.some((tensor) => wanted.has(tensor))) rematerializeSegment(scope, code, passes[place]!, between)
  })
}

/** Tiles of which each run leaves the same of the gradients that go to the host. */
const inBands = ({ graph }: ModelScope, segment: Segment, tiling: SegmentTiling, hostTensors: Boundaries['hostTensors']): SegmentTiling => {
  const bands = boundaryTensors(graph, segment)
    .inputs.filter((tensor) => hostTensors.get(tensor)?.gradient !== undefined)
    .flatMap((tensor) => {
      const held: RunRows = (run) => run.held.get(tensor)!
      const normalising = graph.readers[tensor]!.filter(
        (reader) => reader >= segment.from && reader < segment.to && accumulatesMoments(graph.nodes[reader]!)
      )
      return [held, ...normalising.map((reader) => readIntervals(segment, reader, tensor))].map((intervalOf) => ({ tensor, intervalOf }))
    })
  return bands.length === 0 ? tiling : { ...tiling, H: regularRuns(graph, segment, tiling.H, bands) }
}

const ofItsOwn = (graph: StepGraph, segment: Segment, tensor: number): SharedTensor | undefined => sharedTensor(graph, [segment], tensor)

/** A segment by itself, with whole tensors at its ends, but for those that are `streamed`. */
export const bindAlone = (scope: ModelScope, segment: Segment, tiling: SegmentTiling, streamed: ReadonlySet<number>): SegmentCode => {
  const { inputs, outputs } = boundaryTensors(scope.graph, segment)
  const hostTensors = createHostTensors(scope, endsOnHost(scope.graph, segment, streamed))
  outputs.forEach((tensor) => addPendingReductions(scope, hostTensors.get(tensor), tensor))
  return bindSegment(scope, segment, tiling, {
    boundaries: makeBoundaries(
      scope,
      [segment],
      [...inputs, ...outputs].filter((tensor) => !streamed.has(tensor)),
      (tensor) => (tensor <= segment.from ? assumedSharing : ofItsOwn)(scope.graph, segment, tensor)
    ),
    hostTensors,
    edgeTilesFirst: false,
    rowsOnTheWay: noRowsOnTheWay()
  })
}
