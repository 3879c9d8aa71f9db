import type { SegmentTiling } from '../../graph/tiling'
import type { Body, BufferSlot } from '../ir/tile-tensor'
import { createBody } from '../scope/regions'
import type { BoundSegment, Direction, Pass } from '../tile/bound-segment'

/** What emits the code of each tile in a pass over its segment. */
export interface TileEmitter {
  readonly tile: (body: Body, slot: BufferSlot | undefined) => void
  /** Emits one op of a tile by itself, for its time; nothing is in bands on the host. */
  readonly op: (body: Body, direction: Direction, position: number) => void
  /** In which its ops run. */
  readonly directions: readonly Direction[]
}

/** The code of one tile in a pass over its segment. */
export interface TileCode {
  readonly mode: Pass['mode']
  /** In which its ops run. */
  readonly directions: readonly Direction[]
  /** Emits all of it. */
  readonly run: () => void
  /** Emits the op at a position by itself, for its time. */
  readonly runOp: (direction: Direction, position: number) => void
  /** Differs from the keys of all other passes and bodies. */
  readonly key: string
  /** Whether it is the first or the last of its pass. */
  readonly isAtEnd: boolean
  readonly body: Body
  readonly slot: BufferSlot | undefined
}

/** A function that emits code in the place of each tile's. */
export type AroundTile = (tile: TileCode) => void

/** Whether rows are those of outputs, or of their gradients. */
export type RowsOf = 'outputs' | 'gradients'

/** By tensor, rows that travel: what waits for them and puts them in their place. */
export type RowsOnTheWay = { readonly [K in RowsOf]: Map<number, () => void> }

/** A segment ready to be emitted, forward and backward. */
export interface SegmentCode extends BoundSegment {
  readonly bodies: readonly Body[]
  /** Whether rows for other ranks travel while its inner tiles are computed. */
  readonly edgeTilesFirst: boolean
  readonly rowsOnTheWay: RowsOnTheWay
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
export const enumerateBodies = (tiling: SegmentTiling): readonly Body[] => {
  const { B, H, W } = tiling
  const found = knownBodies.get(tiling) ?? B.flatMap((batch) => H.flatMap((rows) => W.map((columns) => createBody([batch, rows, columns]))))
  knownBodies.set(tiling, found)
  return found
}
