import type { SegmentTiling } from '../../graph/tiling'
import type { Segment } from '../../plans/plan'
import type { ModelScope } from '../scope/scope'
import { emitBackward, type FinishGradient } from '../segment/backward'
import { bindAlone } from '../segment/bind'
import { exchangeInputs } from '../segment/exchange-rows'
import { emitForward } from '../segment/forward'
import { forwardPass, type AroundTile } from '../segment/segment-code'
import type { BoundSegment } from '../tile/bound-segment'
import { rematerializingPass } from '../tile/pass'

/** Who looks on while a segment is emitted. */
interface Watch {
  readonly aroundTile?: AroundTile
  readonly atOp?: BoundSegment['atOp']
  /** Told when forward is done. */
  readonly onForwardDone?: () => void
  /** What complete gradients are for; nothing where absent. */
  readonly finish?: FinishGradient
}

/**
 * Forward, then backward, of a segment by itself, its ends whole but for tensors that are
 * `streamed`.
 */
export const emitSegment = (
  scope: ModelScope,
  segment: Segment,
  tiling: SegmentTiling,
  streamed: ReadonlySet<number>,
  { aroundTile, atOp, onForwardDone, finish = () => undefined }: Watch = {}
): void => {
  const code = { ...bindAlone(scope, segment, tiling, streamed), ...(aroundTile && { aroundTile }), ...(atOp && { atOp }) }
  exchangeInputs(scope, code, 'outputs')
  const kept = segment.to === scope.graph.nodes.length ? undefined : emitForward(scope, code, forwardPass(code))
  onForwardDone?.()
  if (segment.rematerialize === true) emitForward(scope, code, rematerializingPass(scope, segment, new Set(code.ends.outputs)))
  emitBackward(scope, code, kept, finish)
  exchangeInputs(scope, code, 'gradients')
}
