import type { SegmentTiling } from '../../graph/tiling'
import { arenaOperand, type Buffer } from '../ir/builder'
import type { Body } from '../ir/tile-tensor'
import type { ModelScope } from '../scope/scope'
import type { BoundSegment, Pass } from '../tile/bound-segment'

/** A segment ready to be emitted, forward and backward. */
export interface SegmentCode extends BoundSegment {
  readonly bodies: readonly Body[]
}

/**
 * The pass over a segment forward of which its backward is apart: it keeps what that reads unless
 * that is computed again.
 */
export const forwardPass = ({ segment, passIn }: SegmentCode): Pass => passIn(segment.recompute ? 'discard' : 'keep')

/**
 * Every combination of runs along batch, height and width: the bodies of a segment's loops, in tile
 * order.
 */
export const bodiesOf = ({ B, H, W }: SegmentTiling): readonly Body[] =>
  B.flatMap((batch) => H.flatMap((rows) => W.map((columns): Body => ({ runs: [batch, rows, columns] }))))

/** Zeroes all of a buffer. */
export const zeroBuffer = ({ builder }: Pick<ModelScope, 'builder'>, buffer: Buffer): void =>
  builder.launch<'zero'>({ kind: 'zero', bytes: buffer.bytes }, { destination: arenaOperand(buffer) })
