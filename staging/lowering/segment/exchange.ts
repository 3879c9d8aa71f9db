import { arenaOperand, type Buffer } from '../ir/builder'
import type { Part, TileTensor } from '../ir/tile-tensor'
import { waitForEngine } from '../ir/wait-for-engine'
import { copyPart, freshTile } from '../scope/copies'
import { regionExtents, wholePart } from '../scope/regions'
import type { ModelScope } from '../scope/scope'

/** A part of a tensor that goes to a rank, or comes from it. */
export interface Sent {
  readonly rank: number
  readonly part: Part
}

/** What goes to a rank, or comes from it, densely packed. */
export interface Packed {
  readonly rank: number
  readonly part: Part
  readonly tile: TileTensor
  readonly buffer: Buffer
}

/** An exchange that has begun. */
export interface StartedExchange {
  /** In the order of ranks; there once `done` has come. */
  readonly received: readonly Packed[]
  readonly sent: readonly Packed[]
  readonly done: number
}

/** A place for a part, densely packed. */
const createPacked =
  (scope: ModelScope, kind: 'sent-rows' | 'received-rows') =>
  ({ rank, part }: Sent): Packed => {
    const tile = freshTile(scope, { kind }, regionExtents(part.region, part.tensor.extents[1]), part.tensor.layout)
    if (tile.address.space !== 'arena') throw new Error('a tile in the arena is none')
    return { rank, part, tile, buffer: tile.address.buffer }
  }

/** Copies a part of activations, or adds it. */
export const copyRows = ({ builder, activationBytes }: ModelScope, from: Part, to: Part, add: 0 | 1): void =>
  copyPart(builder, from, to, add, activationBytes, 0)

/** Packs parts and begins to send them to ranks; computing goes on. */
export const startExchange = (scope: ModelScope, ranks: number, sends: readonly Sent[], receives: readonly Sent[]): StartedExchange => {
  const { builder } = scope
  const sent = sends.map(createPacked(scope, 'sent-rows'))
  const received = receives.map(createPacked(scope, 'received-rows'))
  for (const { part, tile } of sent) copyRows(scope, part, wholePart(tile), 0)
  waitForEngine(builder, 'network', 'compute')
  const toMessage = ({ rank, buffer }: Packed) => ({ rank, bytes: buffer.bytes, at: arenaOperand(buffer) })
  builder.exchange({ ranks, sends: sent.map(toMessage), receives: received.map(toMessage) })
  const done = builder.freshEvent()
  builder.record('network', done)
  return { received, sent, done }
}
