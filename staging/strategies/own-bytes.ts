import { liveTensors } from '../graph/boundary-tensors'
import { createPool } from '../lowering/ir/builder'
import { wantsGradient } from '../lowering/scope/scope'
import { createModelScope } from '../lowering/segment/create-scope'
import { memoizePerObject } from '../memoize'
import { alignUp } from '../placement/placement'
import { endsOnHost } from '../plans/host-tensors'
import type { Segment } from '../plans/plan'
import { outputBytes } from './find-segments'
import type { Search, Segmentation } from './strategy'

const createEstimator = ({ graph, device, persistentBytes, estimate }: Search) => {
  const scope = createModelScope(graph, device, createPool())
  const [sizes, end] = [outputBytes(scope), graph.nodes.length]
  return (segments: Segmentation, onHost: ReadonlySet<number>): number => {
    // Ranks that share rows have parts of them.
    if (graph.shard !== undefined) return 0
    const gradientsAt = (position: number): readonly number[] =>
      position === end ? [] : liveTensors(graph, position).filter((tensor) => scope.requiresGrad[tensor]! && !onHost.has(tensor))
    const ownOf = (segment: Segment): number => {
      const after = new Set(gradientsAt(segment.to))
      const through = gradientsAt(segment.from).filter((tensor) => after.has(tensor))
      const { forwardBytes, bytesWithGradients } = estimate(segment, onHost)!.bytes()
      return Math.max(forwardBytes, through.reduce((sum, tensor) => sum + alignUp(sizes[tensor - 1]!), 0) + bytesWithGradients)
    }
    // What is kept of a segment may wait on the host, even while others of its layers run.
    // Of what passes in bands more may be counted than lives at once.
    const again = segments.filter(
      (segment) => segment.recompute && wantsGradient(scope, segment) && endsOnHost(graph, segment, onHost).length === 0
    )
    return persistentBytes + again.reduce((most, segment) => Math.max(most, ownOf(segment)), 0)
  }
}

/**
 * Estimates the bytes on the device that a step cannot do without, wherever the tensors wait that
 * it keeps from forward to backward, by its segments alone: what those make that are computed again
 * stays until they are done, and so do the gradients around them.
 */
export const ownBytesEstimator = memoizePerObject(() => 0, createEstimator)
