import { simulateTimedCode } from '../../devices/simulate'
import type { DeviceModel } from '../../devices/device-model'
import type { StepGraph } from '../../graph/step-graph'
import { tileCount, untiled } from '../../graph/span'
import { segmentTiling, type SegmentTiling } from '../../graph/tiling'
import type { Kernel } from '../../kernels/kernels'
import { lazy } from '../../memoize'
import { endsOnHost } from '../../plans/host-tensors'
import type { Segment } from '../../plans/plan'
import { createPool } from '../ir/builder'
import type { ModelScope } from '../scope/scope'
import { bindAlone } from '../segment/bind'
import { rematerializingPass } from '../tile/pass'
import { emitForward } from '../segment/forward'
import { createModelScope } from '../segment/create-scope'
import { createCostBuilder, type CostBuilder } from './cost-builder'
import { emitSegment } from './emit-segment'
import { segmentKeys } from './segment-keys'
import { tiledSegmentTimer } from './tile-times'
import { createTimedBuilder } from './timed-builder'

/** Time does not depend on scratch, and devices are slow to answer for it. */
const withoutScratch = (scope: ModelScope): ModelScope => ({
  ...scope,
  device: { ...scope.device, scratchBytes: () => 0, indicesBytes: () => 0 }
})

const isBanded = (scope: ModelScope, segment: Segment, streamed: ReadonlySet<number>): boolean =>
  endsOnHost(scope.graph, segment, streamed).length > 0

/** Nanoseconds of all launches, or of those of a kind of kernel. */
type SegmentWatch = Pick<CostBuilder, 'nanoseconds'>

const none: ReadonlySet<number> = new Set()

/** By kinds of kernels from its launches alone. */
const timeSegment = (scope: ModelScope, segment: Segment, tiling: SegmentTiling, streamed = none): CostBuilder => {
  const watch = createCostBuilder(scope.device)
  emitSegment({ ...scope, builder: watch }, segment, tiling, streamed)
  return watch
}

/** Of engines that run beside each other. */
const simulateSegment = (scope: ModelScope, segment: Segment, tiling: SegmentTiling, streamed: ReadonlySet<number>): number => {
  const builder = createTimedBuilder(scope.device)
  emitSegment({ ...scope, builder }, segment, tiling, streamed)
  return simulateTimedCode(builder.timed(), scope.device)
}

/** Nanoseconds of segments that run forward once more, for nothing but what leaves them. */
export const forwardTimes = (model: ModelScope): ((segment: Segment, tiling: SegmentTiling) => number) => {
  const scope = withoutScratch(model)
  return (segment, tiling) => {
    const watch = createCostBuilder(scope.device)
    const code = bindAlone(scope, segment, tiling, none)
    emitForward({ ...scope, builder: watch }, code, rematerializingPass(scope, segment, new Set(code.ends.outputs)))
    return watch.nanoseconds()
  }
}

/** Nanoseconds of segments, exactly; their tiles must see more than padding. */
export const segmentTimes = (model: ModelScope): ((segment: Segment, tiling: SegmentTiling, streamed: ReadonlySet<number>) => number) => {
  const scope = withoutScratch(model)
  const timeTiled = tiledSegmentTimer(scope)
  const isLast = ({ to }: Segment): boolean => to === scope.graph.nodes.length
  return (segment, tiling, streamed) => {
    if (isBanded(scope, segment, streamed)) return simulateSegment(scope, segment, tiling, streamed)
    const isTiled = tileCount(segment.grid) > 1 && (segment.recompute || isLast(segment))
    return isTiled ? timeTiled(segment, tiling) : timeSegment(scope, segment, tiling).nanoseconds()
  }
}

/** All of it as engines beside each other take it, and by kinds of kernels. */
const watchSegment = (scope: ModelScope, segment: Segment, tiling: SegmentTiling, streamed: ReadonlySet<number>): SegmentWatch => {
  const watch = timeSegment(scope, segment, tiling, streamed)
  const isBeside = segment.prefetch === true || isBanded(scope, segment, streamed)
  const whole = lazy(() => (isBeside ? simulateSegment(scope, segment, tiling, streamed) : watch.nanoseconds()))
  return { nanoseconds: (kind) => (kind === undefined ? whole() : watch.nanoseconds(kind)) }
}

/**
 * What a segment's kernels and the bands of tensors `onHost` take, exactly; its tiles must see more
 * than padding. Answers are remembered as an estimator's.
 */
export const segmentTimer = (
  graph: StepGraph,
  device: DeviceModel,
  onHost: ReadonlySet<number> = new Set()
): ((segment: Segment) => SegmentWatch) => {
  const scope = withoutScratch(createModelScope(graph, device, createPool()))
  const keyOf = segmentKeys(scope)
  const known = new Map<string, SegmentWatch>()
  return (segment) => {
    const key = keyOf(segment, onHost)
    const watch = known.get(key) ?? watchSegment(scope, segment, segmentTiling(graph, segment, segment.grid)!, onHost)
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
