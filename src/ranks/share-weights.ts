import * as E from 'fp-ts/Either'
import type { Outcome } from '../failure'
import { type Ranks, agreeAfter } from './ranks'

/** Bytes that are sent at once. */
const pieceBytes = 4 * 2 ** 20

/**
 * Fills a buffer on every rank, then gives all of them what the first has: what it read from files
 * need lie nowhere else. The buffers are equally long.
 */
export const shareWeights =
  (ranks: Ranks) =>
  <A>(fill: Outcome<A>, { buffer }: { readonly buffer: ArrayBuffer }): Outcome<A> =>
  async () => {
    const filled = await agreeAfter(ranks)(fill)()
    if (E.isLeft(filled)) return filled
    const { rank, allGather } = ranks
    for (let from = 0; from < buffer.byteLength; from += pieceBytes) {
      const piece = new Uint8Array(buffer, from, Math.min(pieceBytes, buffer.byteLength - from))
      const all = await allGather(E.right(rank === 0 ? piece : new Uint8Array(0)))()
      if (E.isLeft(all)) return all
      piece.set(all.right[0]!)
    }
    return filled
  }
