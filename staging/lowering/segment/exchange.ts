import type { ImageRows } from '../../graph/shared-tensor'
import { arenaOperand, type Buffer } from '../ir/builder'
import type { Part, TileTensor, WholeTensor } from '../ir/tile-tensor'
import { waitForEngine } from '../ir/wait-for-engine'
import { copyPart, freshTile } from '../scope/copies'
import { regionExtents, wholePart } from '../scope/regions'
import type { ModelScope } from '../scope/scope'

/** A part of a tensor that goes to a rank, or comes from it. */
export interface Sent {
  readonly rank: number
  readonly part: Part
}

/** A part of a tensor, and what it is densely packed in. */
export interface Packed {
  readonly part: Part
  readonly tile: TileTensor
  readonly buffer: Buffer
}

/** An exchange that has begun. */
export interface StartedExchange {
  readonly sent: readonly Packed[]
  /** Recorded once all is there. */
  readonly done: number
  /** Puts what has come in its place. */
  readonly take: () => void
}

/** Rows of some images of a tensor. */
export const rowsPart = (tensor: WholeTensor, { images, rows }: ImageRows): Part => ({
  tensor,
  region: {
    from: [images.from, rows.from, 0],
    size: [images.to - images.from, rows.to - rows.from, tensor.extents[3]],
    advance: [0, 0, 0]
  }
})

/** A place for a part, densely packed. */
const createPacked = (scope: ModelScope, kind: 'sent-rows' | 'received-rows', part: Part): Packed => {
  const tile = freshTile(scope, { kind }, regionExtents(part.region, part.tensor.extents[1]), part.tensor.layout)
  if (tile.address.space !== 'arena') throw new Error('a tile in the arena is none')
  return { part, tile, buffer: tile.address.buffer }
}

const copyRows = ({ builder, activationBytes }: ModelScope, from: Part, to: Part, add: 0 | 1): void =>
  copyPart(builder, from, to, add, activationBytes)

/** Packs a part to be sent. */
export const packPart = (scope: ModelScope, part: Part): Packed => {
  const packed = createPacked(scope, 'sent-rows', part)
  copyRows(scope, part, wholePart(packed.tile), 0)
  return packed
}

/** An event that the network records once it has done all that it was told. */
export const recordExchanged = ({ builder }: Pick<ModelScope, 'builder'>): number => {
  const done = builder.freshEvent()
  builder.record('network', done)
  return done
}

/** Packs parts and begins to send them to ranks; what comes is copied to its place, or added. */
export const startExchange = (
  scope: ModelScope,
  ranks: number,
  sends: readonly Sent[],
  receives: readonly Sent[],
  add: 0 | 1
): StartedExchange => {
  const { builder } = scope
  const sent = sends.map(({ part }) => createPacked(scope, 'sent-rows', part))
  const received = receives.map(({ part }) => createPacked(scope, 'received-rows', part))
  for (const { part, tile } of sent) copyRows(scope, part, wholePart(tile), 0)
  waitForEngine(builder, 'network', 'compute')
  const toMessages = (packed: readonly Packed[], of: readonly Sent[]) =>
    packed.map(({ buffer }, place) => ({ rank: of[place]!.rank, bytes: buffer.bytes, at: arenaOperand(buffer) }))
  builder.exchange({ ranks, sends: toMessages(sent, sends), receives: toMessages(received, receives) })
  return {
    sent,
    done: recordExchanged(scope),
    take: () => received.forEach(({ tile, part }) => copyRows(scope, wholePart(tile), part, add))
  }
}
