import { hostname } from 'node:os'
import * as E from 'fp-ts/Either'
import * as t from 'io-ts'
import type { MeasuredNetwork } from '../../staging'
import { type Failure, type Outcome, deviceFailure } from '../failure'
import { type Ranks, allGatherJson, allGatherNumbers } from './ranks'

/** Bytes of messages, and how often each is sent; the largest take a second at 1 Gb/s together. */
const messages = [
  { bytes: 1, times: 201 },
  { bytes: 2 ** 12, times: 101 },
  { bytes: 2 ** 16, times: 51 },
  { bytes: 2 ** 18, times: 25 },
  { bytes: 2 ** 20, times: 13 },
  { bytes: 2 ** 22, times: 7 },
  { bytes: 2 ** 24, times: 5 }
] as const

const upperMedian = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[values.length >> 1]!

/** From each rank to the next, and twice as far each time, so that ranks of all machines meet. */
const listDistances = (size: number): readonly number[] => Array.from({ length: Math.ceil(Math.log2(size)) }, (_, power) => 2 ** power)

/**
 * Measures the network between ranks, of which there are two at least: messages of several sizes,
 * both ways at once as steps exchange them, each the median of many, of the slowest ranks. Every
 * rank calls it, and gets the same.
 */
export const measureNetwork =
  (ranks: Ranks): Outcome<MeasuredNetwork> =>
  async () => {
    const names = await allGatherJson(ranks, t.string, E.right(hostname()))
    if (E.isLeft(names)) return names
    const measured: { readonly bytes: number; readonly milliseconds: number }[] = []
    for (const message of messages) {
      const own: number[] = []
      let failure: Failure | undefined
      for (const distance of listDistances(ranks.size)) {
        const timed = await ranks.network.timeExchanges({ ...message, distance })()
        if (E.isLeft(timed)) failure ??= deviceFailure(timed.left)
        else own.push(upperMedian(timed.right) / 1e6)
      }
      const all = await allGatherNumbers(ranks, failure === undefined ? E.right(own) : E.left(failure))
      if (E.isLeft(all)) return all
      measured.push({ bytes: message.bytes, milliseconds: Math.max(...all.right.flat()) })
    }
    return E.right({ ranks: ranks.size, machines: new Set(names.right).size, messages: measured })
  }
