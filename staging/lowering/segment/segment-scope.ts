import type { Segment } from '../../plans/plan'
import { sharesCopies } from '../scope/parameters'
import type { ModelScope, SegmentScope } from '../scope/scope'
import { frozenMoments } from '../tile/moments'
import { transformWeights, type SharedTransforms } from './winograd'

/** What of a pass over a segment is made, or decided, before its tiles. */
export interface BeforeTiles extends Pick<SegmentScope, 'castWeights' | 'sums'> {
  readonly transforms: SharedTransforms
  /** Tells whether the pass runs the op at a position. */
  readonly runs: (position: number) => boolean
}

/**
 * The scope of a pass over a segment; transforms the weights that its tiles share, and makes the
 * moments of frozen normalisations.
 */
export const createSegmentScope = (
  model: ModelScope,
  segment: Segment,
  { castWeights, sums, transforms, runs }: BeforeTiles
): SegmentScope => {
  const winograd = transformWeights({ ...model, castWeights }, segment, transforms)
  const frozen = frozenMoments(model, segment, runs)
  const moments = frozen.size === 0 ? model.moments : new Map([...model.moments, ...frozen])
  return { ...model, moments, winograd, castWeights, sharesCopies: sharesCopies(segment), sums, workspace: segment.workspace }
}
