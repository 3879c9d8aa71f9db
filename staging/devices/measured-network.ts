import * as t from 'io-ts'
import { milliseconds } from '../decoding/magnitudes'
import type { NetworkRates } from './network'

const count = t.refinement(t.number, (value) => Number.isSafeInteger(value) && value > 0, 'a whole number above 0')

/** What was measured between ranks: the time of a message, by its bytes. */
export const measuredNetwork = t.readonly(
  t.type({
    ranks: count,
    /** On which the ranks ran, told apart by their names. */
    machines: count,
    messages: t.readonlyArray(t.readonly(t.type({ bytes: count, milliseconds })))
  })
)

/** What was measured between ranks: the time of a message, by its bytes. */
export type MeasuredNetwork = t.TypeOf<typeof measuredNetwork>

/** The sum of a product over messages. */
const sum = (messages: MeasuredNetwork['messages'], of: (bytes: number, seconds: number) => number): number =>
  messages.reduce((total, { bytes, milliseconds }) => total + of(bytes, milliseconds / 1e3), 0)

/**
 * The latency and rate that tell the times of messages, latency + bytes / rate (Hockney 1994), with
 * the least squares of relative errors; undefined where larger messages took no longer.
 */
export const fitNetwork = ({ ranks, machines, messages }: MeasuredNetwork): NetworkRates | undefined => {
  // Of latency / seconds + bytes / (rate · seconds) = 1, for each message.
  const [aa, ab, bb] = [
    sum(messages, (_, seconds) => 1 / seconds ** 2),
    sum(messages, (bytes, seconds) => bytes / seconds ** 2),
    sum(messages, (bytes, seconds) => (bytes / seconds) ** 2)
  ]
  const [a, b] = [sum(messages, (_, seconds) => 1 / seconds), sum(messages, (bytes, seconds) => bytes / seconds)]
  const determinant = aa * bb - ab * ab
  const [latencySeconds, secondsPerByte] = [(a * bb - b * ab) / determinant, (b * aa - a * ab) / determinant]
  return latencySeconds > 0 && secondsPerByte > 0
    ? { bytesPerSecond: 1 / secondsPerByte, latencySeconds, measured: { ranks, machines } }
    : undefined
}
