import { endsOnHost } from '../../plans/host-tensors'
import type { Segment } from '../../plans/plan'
import type { ModelScope } from '../scope/scope'
import { structuralIds } from './structural-hash'

/** Keys of segments: the same for those that are alike and run in the same way. */
export const segmentKeys = (scope: ModelScope): ((segment: Segment, streamed: ReadonlySet<number>) => string) => {
  const structuralId = structuralIds(scope)
  return (segment, streamed) => {
    const {
      from,
      grid,
      recompute,
      reorder,
      winograd = [],
      slicedWinograd = [],
      normaliseOnLoad = [],
      workspace,
      prefetch,
      rematerialize
    } = segment
    const onHost = endsOnHost(scope.graph, segment, streamed).map((tensor) => tensor - from)
    const [transformed, sliced, onLoad] = [winograd, slicedWinograd, normaliseOnLoad].map((positions) =>
      positions.map((position) => position - from)
    )
    const decisions = [grid.B, grid.H, grid.W, recompute, reorder, transformed, sliced, onLoad, workspace, prefetch, rematerialize, onHost]
    return [structuralId(segment), ...decisions].join(';')
  }
}
