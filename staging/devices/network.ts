import type { AllToAll, Exchange } from '../program/rank-instructions'

/** How fast the network between ranks is, each way. */
export interface NetworkRates {
  readonly bytesPerSecond: number
  /** Seconds until the first byte of a message is there. */
  readonly latencySeconds: number
  /** Between how many ranks on how many machines it was measured; absent where it was told. */
  readonly measured?: { readonly ranks: number; readonly machines: number }
}

/** An exchange with all ranks, as far as its time depends on it. */
export type TimedAllToAll = Pick<AllToAll, 'ranks' | 'bytes' | 'sendStride'>

/** The bytes of each message of an exchange with some ranks. */
export interface TimedExchange {
  readonly sends: readonly { readonly bytes: number }[]
  readonly receives: readonly { readonly bytes: number }[]
}

const total = (messages: Exchange['sends'] | TimedExchange['sends']): number => messages.reduce((sum, { bytes }) => sum + bytes, 0)

/**
 * Predicts nanoseconds of an exchange with all ranks. What all get alike is doubled in each round;
 * else each pair of ranks exchanges in turn, or fewer and larger messages pass through others,
 * whichever is faster (Thakur 2005, section 4).
 */
export const allToAllNanoseconds = (
  { ranks, bytes, sendStride }: TimedAllToAll,
  { bytesPerSecond, latencySeconds }: NetworkRates
): number => {
  const rounds = Math.ceil(Math.log2(ranks))
  const seconds = (messages: number, sent: number): number => messages * latencySeconds + sent / bytesPerSecond
  const inTurn = (messages: number): number => seconds(messages, (ranks - 1) * bytes)
  const fastest = sendStride === 0 ? inTurn(rounds) : Math.min(inTurn(ranks - 1), seconds(rounds, (rounds * ranks * bytes) / 2))
  return Math.round(1e9 * fastest)
}

/** Predicts nanoseconds of an exchange with some ranks: one message after the other, both ways. */
export const exchangeNanoseconds = ({ sends, receives }: TimedExchange, { bytesPerSecond, latencySeconds }: NetworkRates): number =>
  Math.round(1e9 * (Math.max(sends.length, receives.length) * latencySeconds + Math.max(total(sends), total(receives)) / bytesPerSecond))
