import type { DeviceModel } from '../../devices/device-model'
import type { StepGraph } from '../../graph/step-graph'
import { maxLive } from '../../placement/placement'
import { computeLifetimes } from '../../placement/lifetimes'
import type { KernelKind } from '../../kernels/kernels'
import { findRefused } from '../ir/buffer-identity'
import { lazy } from '../../memoize'
import { type Segment } from '../../plans/plan'
import type { TileAxis } from '../../program/program'
import { endsOnHost } from '../../plans/host-tensors'
import { tileRuns, type SegmentTiling, type TileRun } from '../../graph/tiling'
import type { ModelScope } from '../scope/scope'
import { createBuilder, createPool, type Pool } from '../ir/builder'
import { createModelScope } from '../segment/create-scope'
import { emitSegment } from './emit-segment'
import { segmentKeys } from './segment-keys'
import { segmentTimes } from './segment-times'

/** What one segment takes beside persistent tensors and the tensors at its ends. */
interface SegmentBytes {
  readonly forwardBytes: number
  readonly backwardBytes: number
  /** What stays from forward until backward. */
  readonly keptBytes: number
  /** A kernel that the device refuses, whose scratch is left out; undefined where it takes all. */
  readonly refusedKernel: KernelKind | undefined
}

/**
 * Bytes and time are each found out when first asked for: a search needs both of a few segments
 * only.
 */
export interface SegmentEstimate {
  readonly bytes: () => SegmentBytes
  /** Exact: its share of what the simulator says of a step that runs launch by launch. */
  readonly nanoseconds: () => number
}

/** Bytes do not depend on which kernels there are. */
const withoutKernels = (pool: Pool): Pool => ({ ...pool, intern: () => 0 })

const size = (run: TileRun): number => [...run.held.values()].reduce((sum, { from, to }) => sum + to - from, 0)

/**
 * The largest tile, twice where there are several: what a loop shares with what stands around it
 * lives through all of it.
 */
const largest = (runs: readonly TileRun[]): TileRun => ({
  ...runs.reduce((most, run) => (size(run) > size(most) ? run : most)),
  count: runs.length > 1 || runs[0]!.count > 1 ? 2 : 1
})

const largestTile = ({ B, H, W }: SegmentTiling): SegmentTiling => ({ B: [largest(B)], H: [largest(H)], W: [largest(W)] })

/**
 * Estimates segments: bytes by lowering their largest tile alone, time by going through all of
 * them. Returns undefined for a grid with tiles that see only padding. Answers are remembered for
 * all segments that are alike.
 */
export const segmentEstimator = (
  graph: StepGraph,
  device: DeviceModel
): ((segment: Segment, streamed?: ReadonlySet<number>) => SegmentEstimate | undefined) => {
  const pool = withoutKernels(createPool())
  const scope = createModelScope(graph, device, pool)
  const timeOf = segmentTimes(scope)
  const keyOf = segmentKeys(scope)
  const known = new Map<string, SegmentEstimate | undefined>()
  const knownRuns = new Map<string, readonly TileRun[] | undefined>()
  const runsOf = ({ from, to, grid }: Segment, axis: TileAxis): readonly TileRun[] | undefined => {
    const key = `${from},${to},${axis},${grid[axis]}`
    if (!knownRuns.has(key)) knownRuns.set(key, tileRuns(graph, { from, to }, axis, grid[axis]))
    return knownRuns.get(key)
  }
  return (segment, streamed = new Set()) => {
    const key = keyOf(segment, streamed)
    if (!known.has(key)) {
      const [B, H, W] = [runsOf(segment, 'B'), runsOf(segment, 'H'), runsOf(segment, 'W')]
      const tiling = B && H && W && { B, H, W }
      known.set(
        key,
        tiling && {
          bytes: lazy(() => bytesOf(scope, pool, segment, tiling, streamed)),
          nanoseconds: lazy(() => timeOf(segment, tiling, streamed))
        }
      )
    }
    return known.get(key)
  }
}

const bytesOf = (scope: ModelScope, pool: Pool, segment: Segment, tiling: SegmentTiling, streamed: ReadonlySet<number>): SegmentBytes => {
  const builder = createBuilder(pool)
  // What a tile leaves to the next one, and to the host, the largest alone does not tell.
  const inBands = endsOnHost(scope.graph, segment, streamed).length > 0
  const forwardEnd = emitSegment({ ...scope, builder }, segment, inBands ? tiling : largestTile(tiling), streamed)
  const local = computeLifetimes(builder.code(), []).filter(({ buffer: { role } }) => role === 'local' || role === 'unwanted')
  const [forward, backward] = [local.filter(({ from }) => from < forwardEnd), local.filter(({ to }) => to > forwardEnd)]
  const across = local.filter(({ from, to }) => from < forwardEnd && to > forwardEnd)
  return {
    forwardBytes: maxLive(forward).bytes,
    backwardBytes: maxLive(backward).bytes,
    keptBytes: across.reduce((sum, { bytes }) => sum + bytes, 0),
    refusedKernel: findRefused(local)
  }
}
