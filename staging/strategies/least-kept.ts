import { overlapsCopies, type DeviceModel } from '../devices/device-model'
import { boundaryTensors } from '../graph/boundary-tensors'
import { tileCount } from '../graph/span'
import type { StepGraph } from '../graph/step-graph'
import { createPool } from '../lowering/ir/builder'
import { wantsGradient } from '../lowering/scope/scope'
import { createModelScope } from '../lowering/segment/create-scope'
import { segmentPasses } from '../lowering/tile/pass'
import { lazy } from '../memoize'
import { alignment } from '../placement/placement'
import { endsOnHost } from '../plans/host-tensors'
import type { Segment } from '../plans/plan'
import { outputBytes } from './find-segments'
import { readBytesEstimator } from './least-bytes'
import { nanosecondsAt, untaken } from './least-transfers'
import type { KeptBytes, Search, Segmentation } from './strategy'

/**
 * Estimates what a segmentation keeps when backward begins, at least, but for what is `onHost`
 * throughout: what backward reads of what segments leave, and of what segments make that are not
 * computed again; and which segments may be idle.
 */
export const keptBytesEstimator = (
  graph: StepGraph,
  device: DeviceModel
): ((segments: Segmentation, onHost: ReadonlySet<number>) => KeptBytes) => {
  const scope = createModelScope(graph, device, createPool())
  const [sizes, readBytes] = [outputBytes(scope), readBytesEstimator(scope)]
  return (segments, onHost) => {
    const madeAgain = new Set(
      segments.flatMap((segment) => (segment.rematerialize === true ? boundaryTensors(graph, segment).outputs : []))
    )
    const kept = new Set<number>()
    const readAgain = new Set<number>()
    const idle = new Set<Segment>()
    let [bytes, tensors] = [0, 0]
    for (const segment of [...segments].reverse()) {
      const { from, to, recompute } = segment
      if (segment.rematerialize === true && !boundaryTensors(graph, segment).outputs.every((tensor) => readAgain.has(tensor)))
        idle.add(segment)
      const readsAgain = recompute && wantsGradient(scope, segment)
      const { isRead, readsInput } = segmentPasses(scope, segment, onHost)(recompute ? 'recompute' : 'keep')
      const reads = (tensor: number): boolean =>
        recompute ? isRead(tensor) : graph.readers[tensor]!.some((reader) => from <= reader && reader < to && readsInput(reader, tensor))
      for (const tensor of boundaryTensors(graph, segment).inputs) {
        if (readsAgain && isRead(tensor)) readAgain.add(tensor)
        if (tensor > 0 && !onHost.has(tensor) && !madeAgain.has(tensor) && reads(tensor)) kept.add(tensor)
      }
      if (recompute || tileCount(segment.grid) > 1) continue
      const { own, count } = readBytes(segment)
      bytes += own
      tensors += count
    }
    // Ranks that share rows have parts of them.
    if (graph.shard !== undefined) return { bytes: 0, tensors: 0, idle }
    kept.forEach((tensor) => (bytes += sizes[tensor - 1]!))
    return { bytes, tensors: tensors + kept.size, idle }
  }
}

/**
 * How much longer segments may seem to take by themselves than in a step: where loads pass beside
 * computing they may wait for them; else all is exact but for rounding.
 */
export const loadMargin = (device: DeviceModel): number => (overlapsCopies(device) ? 1.02 : 1 + 1e-6)

/** By how much less segments may wait for loads and bands in a step than by themselves. */
export const waitMargin = 1.1

/**
 * Bounds what a step takes whose tensors wait on the host, whatever the schedule, by its segments
 * alone: they compute, and what is kept from forward to backward above the bytes on the device
 * leaves and comes back. Answers nanoseconds for bytes on the device.
 */
export const aboutNanoseconds = (
  { graph, device, persistentBytes, estimate, keptBytes }: Search,
  segments: Segmentation,
  onHost: ReadonlySet<number>
): ((deviceBytes: number) => number) => {
  const { linkBytesPerSecond: link, copyBytesPerSecond: copies = untaken } = device
  const kept = lazy(() => keptBytes(segments, onHost))
  // What waits for loads or bands by itself may wait for less in a step.
  const leastOf = (segment: Segment): number => {
    const isWaiting = segment.prefetch === true || endsOnHost(graph, segment, onHost).length > 0
    const { rematerialize: _, ...once } = segment
    const run = kept().idle.has(segment) ? once : segment
    return estimate(run, onHost)!.nanoseconds() / (isWaiting ? waitMargin : 1)
  }
  const computing = lazy(() => segments.reduce((sum, segment) => sum + leastOf(segment), 0))
  return (deviceBytes) => {
    const { bytes, tensors } = kept()
    // Bytes of padding are freed, but not moved; each transfer may be rounded to a nanosecond less.
    const moved = Math.max(0, persistentBytes + bytes - deviceBytes - alignment * tensors)
    const [taken, passing] = [copies, link].map((rates) => nanosecondsAt(moved, rates.toHost) + nanosecondsAt(moved, rates.toDevice))
    return Math.max(computing(), computing() + taken! - 2 * tensors, passing! - 2 * tensors)
  }
}
