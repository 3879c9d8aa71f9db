import type { SegmentTiling } from '../../graph/tiling'
import { arenaOperand, type Buffer } from '../ir/builder'
import type { Body, BufferSlot } from '../ir/tile-tensor'
import type { ModelScope } from '../scope/scope'
import type { BoundSegment, Pass } from '../tile/bound-segment'

/** The code of one tile in a pass over its segment. */
export interface TileCode {
  /** Emits it. */
  readonly run: () => void
  /** Differs from the keys of all other passes and bodies. */
  readonly key: string
  readonly body: Body
  readonly slot: BufferSlot | undefined
}

/** What takes the place of each tile's code; it may run that. */
export type AroundTile = (tile: TileCode) => void

/** A segment ready to be emitted, forward and backward. */
export interface SegmentCode extends BoundSegment {
  readonly bodies: readonly Body[]
  /** Where only times are asked for; absent where tiles are emitted as they are. */
  readonly aroundTile?: AroundTile
}

/**
 * The pass over a segment forward of which its backward is apart: it keeps what that reads unless
 * that is computed again.
 */
export const forwardPass = ({ segment, passIn }: SegmentCode): Pass => passIn(segment.recompute ? 'discard' : 'keep')

const knownBodies = new WeakMap<SegmentTiling, readonly Body[]>()

/**
 * Every combination of runs along batch, height and width: the bodies of a segment's loops, in tile
 * order; remembered.
 */
export const bodiesOf = (tiling: SegmentTiling): readonly Body[] => {
  const { B, H, W } = tiling
  const found =
    knownBodies.get(tiling) ?? B.flatMap((batch) => H.flatMap((rows) => W.map((columns): Body => ({ runs: [batch, rows, columns] }))))
  knownBodies.set(tiling, found)
  return found
}

/** Zeroes all of a buffer. */
export const zeroBuffer = ({ builder }: Pick<ModelScope, 'builder'>, buffer: Buffer): void =>
  builder.launch<'zero'>({ kind: 'zero', bytes: buffer.bytes }, { destination: arenaOperand(buffer) })
