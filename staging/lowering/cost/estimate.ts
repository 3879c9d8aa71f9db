import type { DeviceModel } from '../../devices/device-model'
import type { StepGraph } from '../../graph/step-graph'
import { lazy } from '../../memoize'
import { type Segment } from '../../plans/plan'
import { tileAxes } from '../../program/program'
import { endsOnHost } from '../../plans/host-tensors'
import { boundaryTensors, isLiveAfter } from '../../graph/boundary-tensors'
import { tileRuns, type SegmentTiling, type TileRun } from '../../graph/tiling'
import type { ModelScope } from '../scope/scope'
import { createPool } from '../ir/builder'
import { createModelScope } from '../segment/create-scope'
import { zeroBuffer } from '../segment/segment-code'
import { createBytesBuilder, type SegmentBytes } from './bytes-builder'
import { emitSegment } from './emit-segment'
import { segmentKeys } from './segment-keys'
import { forwardTimes, segmentTimes } from './segment-times'

/**
 * Bytes and time are each found out when first asked for: a search needs both of a few segments
 * only.
 */
export interface SegmentEstimate {
  readonly bytes: () => SegmentBytes
  /** Exact: its share of what the simulator says of a step that runs launch by launch. */
  readonly nanoseconds: () => number
  /**
   * Nanoseconds of running the segment forward once more, for nothing but what leaves it; of whole
   * tensors.
   */
  readonly forwardNanoseconds: () => number
}

const none: ReadonlySet<number> = new Set()

const size = (run: TileRun): number => [...run.held.values()].reduce((sum, { from, to }) => sum + to - from, 0)

/**
 * The largest tile, twice where there are several: what a loop shares with what stands around it
 * lives through all of it.
 */
const largest = (runs: readonly TileRun[]): TileRun => ({
  ...runs.reduce((most, run) => (size(run) > size(most) ? run : most)),
  count: runs.length > 1 || runs[0]!.count > 1 ? 2 : 1
})

/** The largest tile of a segment alone, as a tiling of its own. */
export const largestTile = ({ B, H, W }: SegmentTiling): SegmentTiling => ({ B: [largest(B)], H: [largest(H)], W: [largest(W)] })

/**
 * Estimates segments: bytes by lowering their largest tile alone, time by going through all of
 * them; where tensors may be on the host, a gradient counts for its layer's launches alone. Returns
 * undefined for a grid with tiles that see only padding. Answers are remembered for
 * all segments that are alike.
 */
export const segmentEstimator = (
  graph: StepGraph,
  device: DeviceModel
): ((segment: Segment, onHost?: ReadonlySet<number>) => SegmentEstimate | undefined) => {
  const scope = createModelScope(graph, device, createPool())
  const [timeOf, timeForward] = [segmentTimes(scope), forwardTimes(scope)]
  const keyOf = segmentKeys(scope)
  const known = new Map<string, SegmentEstimate | undefined>()
  return (segment, onHost) => {
    const streamed = onHost ?? none
    const key = `${keyOf(segment, streamed)};${onHost === undefined}`
    if (!known.has(key)) {
      const [B, H, W] = tileAxes.map((axis) => tileRuns(graph, segment, axis, segment.grid[axis]))
      const tiling = B && H && W && { B, H, W }
      known.set(
        key,
        tiling && {
          bytes: lazy(() => countBytes(scope, segment, tiling, streamed, onHost === undefined)),
          nanoseconds: lazy(() => timeOf(segment, tiling, streamed)),
          forwardNanoseconds: lazy(() => timeForward(segment, tiling))
        }
      )
    }
    return known.get(key)
  }
}

/** Of the gradients at a segment's ends, those that live on one side of it alone. */
const makeSideFinder = ({ graph }: ModelScope, segment: Segment): ((node: string) => 'before' | 'after' | undefined) => {
  const { inputs, outputs } = boundaryTensors(graph, segment)
  const nameOf = (tensor: number): string => graph.nodes[tensor - 1]!.name
  const ending = inputs.filter((tensor) => tensor > 0 && !isLiveAfter(graph, tensor, segment.to))
  const sides = new Map([
    ...ending.map((tensor) => [nameOf(tensor), 'before'] as const),
    ...outputs.map((tensor) => [nameOf(tensor), 'after'] as const)
  ])
  return (node) => sides.get(node)
}

/** `inStep`: complete gradients stay until the layer's backward is done, for its update. */
const countBytes = (
  scope: ModelScope,
  segment: Segment,
  tiling: SegmentTiling,
  streamed: ReadonlySet<number>,
  inStep: boolean
): SegmentBytes => {
  const builder = createBytesBuilder()
  // What a tile leaves to the next one, and to the host, the largest alone does not tell.
  const inBands = endsOnHost(scope.graph, segment, streamed).length > 0
  let forwardEnd = 0
  emitSegment({ ...scope, builder }, segment, inBands ? tiling : largestTile(tiling), streamed, {
    onForwardDone: () => {
      forwardEnd = builder.time()
    },
    ...(inStep && { finish: (_, gradient) => zeroBuffer({ builder }, gradient) })
  })
  return builder.bytes(forwardEnd, makeSideFinder(scope, segment))
}
