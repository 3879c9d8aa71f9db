import * as E from 'fp-ts/Either'
import * as t from 'io-ts'
import { strictObject } from '../../staging/decoding/strict-object'
import type { NetworkRates } from '../../staging'
import { positiveCodec } from './codecs'

/** The network as it is told; one that was measured is kept in a file. */
export type GivenNetwork = Omit<NetworkRates, 'measured'>

/** Bits, and their multiples in which networks are sold, and bytes. */
const rateUnits: Readonly<Record<string, number>> = {
  'Mb/s': 1e6 / 8,
  'Gb/s': 1e9 / 8,
  'Tb/s': 1e12 / 8,
  'MB/s': 1e6,
  'GB/s': 1e9,
  'MiB/s': 2 ** 20,
  'GiB/s': 2 ** 30
}

/** In a second. */
const timeUnits: Readonly<Record<string, number>> = { ns: 1e9, us: 1e6, µs: 1e6, ms: 1e3 }

/** A text's number, and what its unit says; undefined where it is none above zero. */
const inUnits = (text: string, units: Readonly<Record<string, number>>): readonly [number: number, unit: number] | undefined => {
  const [, digits, unit = ''] = /^(\d+(?:\.\d+)?)\s*(\S+)$/.exec(text.trim()) ?? []
  const scale = Object.hasOwn(units, unit) ? units[unit] : undefined
  return Number(digits) > 0 && Number.isFinite(Number(digits)) && scale !== undefined ? [Number(digits), scale] : undefined
}

/** Between machines of a rack, where nothing is said of the latency. */
const usualLatency = [20, 1e6] as const

/** `100Gb/s,2us`: bits or bytes per second, and seconds until a message is there; or a sentence. */
export const parseNetwork = (text: string): E.Either<string, GivenNetwork> => {
  const [rate = '', latency, ...more] = text.split(',')
  const [fast, late] = [inUnits(rate, rateUnits), latency === undefined ? usualLatency : inUnits(latency, timeUnits)]
  return fast === undefined || late === undefined || more.length > 0
    ? E.left(`"${text}" is not a network: write 100Gb/s (bits) or 12.5GB/s (bytes), and perhaps its latency, as in 100Gb/s,2us`)
    : E.right({ bytesPerSecond: fast[0] * fast[1], latencySeconds: late[0] / late[1] })
}

/** A network that JavaScript gives. */
export const networkCodec: t.Decoder<unknown, GivenNetwork> = strictObject<GivenNetwork>(
  'a network',
  'field',
  { bytesPerSecond: positiveCodec, latencySeconds: positiveCodec },
  {}
)
