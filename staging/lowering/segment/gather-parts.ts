import { arenaOperand, type Buffer, type Builder } from '../ir/builder'
import type { BufferIdentity } from '../ir/buffer-identity'
import { waitForEngine } from '../ir/wait-for-engine'

/** Begins to gather what all ranks have in a buffer, in their order; computing goes on. */
export const startGathering = (builder: Builder, { bytes, ...buffer }: Buffer, parts: number, identity: BufferIdentity): Buffer => {
  const received = builder.buffer(identity, parts * bytes)
  waitForEngine(builder, 'network', 'compute')
  builder.allToAll({
    ...{ ranks: parts, apart: 1, bytes, sendStride: 0, receiveStride: bytes },
    send: arenaOperand({ bytes, ...buffer }),
    receive: arenaOperand(received)
  })
  return received
}

/** What all ranks have gathered in a buffer, in their order; waits until it is there. */
export const gatherParts = (builder: Builder, buffer: Buffer, parts: number): Buffer => {
  const received = startGathering(builder, buffer, parts, { kind: 'received-statistics' })
  waitForEngine(builder, 'compute', 'network')
  return received
}
