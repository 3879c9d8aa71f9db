import type { SegmentTiling } from '../../graph/tiling'
import type { Segment } from '../../plans/plan'
import type { UnplacedInstruction } from '../ir/builder'
import type { ModelScope } from '../scope/scope'
import { emitBackward } from '../segment/backward'
import { bindAlone } from '../segment/bind'
import { emitForward } from '../segment/forward'
import { forwardPass, type AroundTile } from '../segment/segment-code'
import { rematerializingPass } from '../tile/pass'

const instructions = (code: readonly UnplacedInstruction[]): number =>
  code.reduce((sum, one) => sum + (one.kind === 'loop' ? instructions(one.body) : 1), 0)

/**
 * Forward, then backward, of a segment by itself, its ends whole but for tensors that are
 * `streamed`; returns how many instructions were emitted in forward.
 */
export const emitSegment = (
  scope: ModelScope,
  segment: Segment,
  tiling: SegmentTiling,
  streamed: ReadonlySet<number>,
  aroundTile?: AroundTile
): number => {
  const code = { ...bindAlone(scope, segment, tiling, streamed), ...(aroundTile !== undefined && { aroundTile }) }
  const kept = segment.to === scope.graph.nodes.length ? undefined : emitForward(scope, code, forwardPass(code))
  const forwardEnd = instructions(scope.builder.code())
  if (segment.rematerialize === true) emitForward(scope, code, rematerializingPass(scope, segment, new Set(code.ends.outputs)))
  emitBackward(scope, code, kept, () => undefined)
  return forwardEnd
}
