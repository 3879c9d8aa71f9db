import { arenaOperand, type Buffer, type Builder } from '../ir/builder'
import { waitForEngine } from '../ir/wait-for-engine'

/** What all ranks have gathered in a buffer, in their order; waits until it is there. */
export const gatherParts = (builder: Builder, { bytes, ...buffer }: Buffer, parts: number): Buffer => {
  const received = builder.buffer({ kind: 'received-statistics' }, parts * bytes)
  waitForEngine(builder, 'network', 'compute')
  builder.allToAll({
    ...{ ranks: parts, bytes, sendStride: 0, receiveStride: bytes },
    send: arenaOperand({ bytes, ...buffer }),
    receive: arenaOperand(received)
  })
  waitForEngine(builder, 'compute', 'network')
  return received
}
