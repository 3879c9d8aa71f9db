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

/** Whose type the elements of a tensor have. */
export type ElementsOf = 'activations' | 'parameters'

/** An exchange that has begun. */
export interface StartedExchange {
  /** In the order of ranks; there once `done` has come. */
  readonly received: readonly Packed[]
  readonly sent: readonly Packed[]
  readonly done: number
}

const bytesOfElement = ({ activationBytes, parameterBytes }: ModelScope, elements: ElementsOf): number =>
  elements === 'activations' ? activationBytes : parameterBytes

/** A place for a part, densely packed. */
export const createPacked =
  (scope: ModelScope, kind: 'sent-rows' | 'received-rows', elements: ElementsOf) =>
  ({ rank, part }: Sent): Packed => {
    const ofElements = { ...scope, activationBytes: bytesOfElement(scope, elements) }
    const tile = freshTile(ofElements, { kind }, regionExtents(part.region, part.tensor.extents[1]), part.tensor.layout)
    if (tile.address.space !== 'arena') throw new Error('a tile in the arena is none')
    return { rank, part, tile, buffer: tile.address.buffer }
  }

/** Copies a part, or adds it. */
export const copyElements = (scope: ModelScope, elements: ElementsOf, from: Part, to: Part, add: 0 | 1): void =>
  copyPart(scope.builder, from, to, add, bytesOfElement(scope, elements), elements === 'parameters' ? 1 : 0)

/** Packs parts and begins to send them to ranks; computing goes on. */
export const startExchange = (
  scope: ModelScope,
  ranks: number,
  sends: readonly Sent[],
  receives: readonly Sent[],
  elements: ElementsOf
): StartedExchange => {
  const { builder } = scope
  const sent = sends.map(createPacked(scope, 'sent-rows', elements))
  const received = receives.map(createPacked(scope, 'received-rows', elements))
  for (const { part, tile } of sent) copyElements(scope, elements, part, wholePart(tile), 0)
  waitForEngine(builder, 'network', 'compute')
  const toMessage = ({ rank, buffer }: Packed) => ({ rank, bytes: buffer.bytes, at: arenaOperand(buffer) })
  builder.exchange({ ranks, sends: sent.map(toMessage), receives: received.map(toMessage) })
  const done = builder.freshEvent()
  builder.record('network', done)
  return { received, sent, done }
}

/** Sends parts to ranks; what comes from them lies packed, in the order of ranks. */
export const exchange = (
  scope: ModelScope,
  ranks: number,
  sends: readonly Sent[],
  receives: readonly Sent[],
  elements: ElementsOf = 'activations'
): readonly Packed[] => {
  const { received, done } = startExchange(scope, ranks, sends, receives, elements)
  scope.builder.wait('compute', done)
  return received
}
