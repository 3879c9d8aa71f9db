import type { DeviceModel } from '../../devices/device-model'
import type { StepGraph } from '../../graph/step-graph'
import { maxLive } from '../../placement/placement'
import { computeLifetimes } from '../../placement/lifetimes'
import type { Kernel, KernelKind } from '../../kernels/kernels'
import { findRefused } from '../ir/buffer-identity'
import { lazy } from '../../memoize'
import { type Segment } from '../../plans/plan'
import { untiled } from '../../graph/span'
import type { TileAxis } from '../../program/program'
import { endsOnHost } from '../../plans/host-tensors'
import { segmentTiling, tileRuns, type SegmentTiling, type TileRun } from '../../graph/tiling'
import { bindAlone } from '../segment/bind'
import type { ModelScope } from '../scope/scope'
import { createBuilder, createPool, type Pool, type UnplacedInstruction } from '../ir/builder'
import { structuralIds } from './structural-hash'
import { createModelScope } from '../segment/create-scope'
import { emitBackward } from '../segment/backward'
import { emitForward } from '../segment/forward'
import { forwardPass } from '../segment/segment-code'
import { rematerializingPass } from '../tile/pass'
import { createCostBuilder, type CostBuilder } from './cost-builder'
import { simulatedNanoseconds } from '../../devices/simulate'

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
  const pool = createPool()
  const scope = createModelScope(graph, device, pool)
  const timed = withoutScratch(scope)
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
          nanoseconds: lazy(() => timeSegment(timed, segment, tiling, streamed).nanoseconds())
        }
      )
    }
    return known.get(key)
  }
}

/** Keys of segments: the same for those that are alike and run in the same way. */
const segmentKeys = (scope: ModelScope): ((segment: Segment, streamed: ReadonlySet<number>) => string) => {
  const likeness = structuralIds(scope)
  return (segment, streamed) => {
    const { from, grid, recompute, reorder, winograd = [], workspace, prefetch, rematerialize } = segment
    const onHost = endsOnHost(scope.graph, segment, streamed).map((tensor) => tensor - from)
    const transformed = winograd.map((position) => position - from)
    const decisions = [grid.B, grid.H, grid.W, recompute, reorder, transformed, workspace, prefetch, rematerialize, onHost]
    return [likeness(segment), ...decisions].join(';')
  }
}

/**
 * Forward, then backward, of a segment by itself; returns how many instructions were emitted in
 * forward.
 */
const emitSegment = (scope: ModelScope, segment: Segment, tiling: SegmentTiling, streamed: ReadonlySet<number>): number => {
  const code = bindAlone(scope, segment, tiling, streamed)
  const kept = segment.to === scope.graph.nodes.length ? undefined : emitForward(scope, code, forwardPass(code))
  const forwardEnd = instructions(scope.builder.code())
  if (segment.rematerialize === true) emitForward(scope, code, rematerializingPass(scope, segment, new Set(code.ends.outputs)))
  emitBackward(scope, code, kept, () => undefined)
  return forwardEnd
}

/** Time does not depend on scratch, and devices are slow to answer for it. */
const withoutScratch = (scope: ModelScope): ModelScope => ({
  ...scope,
  device: { ...scope.device, scratchBytes: () => 0, indicesBytes: () => 0 }
})

const timeSegment = (
  scope: ModelScope,
  segment: Segment,
  tiling: SegmentTiling,
  streamed: ReadonlySet<number> = new Set()
): CostBuilder => {
  const watch = createCostBuilder(scope.device)
  emitSegment({ ...scope, builder: watch }, segment, tiling, streamed)
  if (segment.prefetch !== true && endsOnHost(scope.graph, segment, streamed).length === 0) return watch
  // Engines that run beside each other are simulated.
  const pool = createPool()
  const builder = createBuilder(pool)
  emitSegment({ ...scope, builder }, segment, tiling, streamed)
  const whole = simulatedNanoseconds(builder.code(), pool.kernels, scope.device)
  return { ...watch, nanoseconds: (kind) => (kind === undefined ? whole : watch.nanoseconds(kind)) }
}

/**
 * What a segment's kernels and the bands of tensors `onHost` take, exactly; its tiles must see more
 * than padding. Answers are remembered as an estimator's.
 */
export const segmentTimer = (
  graph: StepGraph,
  device: DeviceModel,
  onHost: ReadonlySet<number> = new Set()
): ((segment: Segment) => CostBuilder) => {
  const scope = withoutScratch(createModelScope(graph, device, createPool()))
  const keyOf = segmentKeys(scope)
  const known = new Map<string, CostBuilder>()
  return (segment) => {
    const key = keyOf(segment, onHost)
    const watch = known.get(key) ?? timeSegment(scope, segment, segmentTiling(graph, segment, segment.grid)!, onHost)
    known.set(key, watch)
    return watch
  }
}

/**
 * Bytes of the largest scratch that a segment's kernels take, undefined where the device refuses
 * one of them; its tiles must see more than padding.
 */
export const segmentScratch = (graph: StepGraph, device: DeviceModel): ((segment: Segment) => number | undefined) => {
  const scope = createModelScope(graph, device, createPool())
  return (segment) => {
    let largest: number | undefined = 0
    const scratchBytes = (kernel: Kernel): number | undefined => {
      const bytes = device.scratchBytes(kernel)
      largest = largest === undefined || bytes === undefined ? undefined : Math.max(largest, bytes)
      return bytes
    }
    timeSegment({ ...scope, device: { ...scope.device, scratchBytes } }, segment, segmentTiling(graph, segment, untiled)!)
    return largest
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

const instructions = (code: readonly UnplacedInstruction[]): number =>
  code.reduce((sum, one) => sum + (one.kind === 'loop' ? instructions(one.body) : 1), 0)
