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

/** Of a latency, what a message takes that is posted beside others: the processors' part of it. */
const postingShare = 0.25

/** Latencies that messages take which are posted at once. */
const latenciesOf = (messages: number): number => (messages === 0 ? 0 : 1 + postingShare * (messages - 1))

const nanosecondsOf = (latencies: number, bytes: number, { bytesPerSecond, latencySeconds }: NetworkRates): number =>
  Math.round(1e9 * (latencies * latencySeconds + bytes / bytesPerSecond))

/** Where at least so many ranks get the same, each round doubles whose bytes they have. */
const leastDoubling = 16

/**
 * Predicts nanoseconds of an exchange with all ranks: a message to each, posted at once, or, where
 * a power of two of ranks get the same, recursive doubling (Thakur 2005, section 4.1).
 */
export const allToAllNanoseconds = ({ ranks, bytes, sendStride }: TimedAllToAll, network: NetworkRates): number => {
  const rounds = Math.log2(ranks)
  const isDoubling = sendStride === 0 && ranks >= leastDoubling && Number.isInteger(rounds)
  return nanosecondsOf(isDoubling ? rounds : latenciesOf(ranks - 1), (ranks - 1) * bytes, network)
}

/** Predicts nanoseconds of an exchange with some ranks, whose messages are posted at once. */
export const exchangeNanoseconds = ({ sends, receives }: TimedExchange, network: NetworkRates): number =>
  nanosecondsOf(latenciesOf(Math.max(sends.length, receives.length)), Math.max(total(sends), total(receives)), network)
