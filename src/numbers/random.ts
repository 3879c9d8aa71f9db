/**
 * Counter-based random numbers: number `index` of the stream (seed, name) depends on nothing else,
 * so that any step can be drawn again by itself, in any order and in any language. All arithmetic
 * is on unsigned 64-bit integers, modulo 2^64:
 *
 *   gamma       = 0x9e3779b97f4a7c15
 *   mix(z)      : z ^= z >> 30; z *= 0xbf58476d1ce4e5b9;
 *                 z ^= z >> 27; z *= 0x94d049bb133111eb; z ^= z >> 31
 *                 (splitmix64's finaliser: Steele, Lea, Flood, "Fast splittable pseudorandom number
 *                 generators", 2014)
 *   hash(name)  : FNV-1a 64 of the name's UTF-8 bytes: h = 0xcbf29ce484222325;
 *                 for each byte h = (h ^ byte) * 0x100000001b3
 *   key         = mix(seed + gamma) ^ hash(name)
 *   bits(index) = mix(key + (index + 1) * gamma)    (output `index` of splitmix64 started at key)
 *   uniform     = (bits >> 11) * 2^-53              in [0, 1)
 *   normal      : Box-Muller on pairs: with p = floor(index / 2), a = 1 - uniform(2 p),
 *                 b = uniform(2 p + 1), r = sqrt(-2 ln a): r cos(2 pi b) at even indices,
 *                 r sin(2 pi b) at odd ones, in float64
 */
interface RandomStream {
  readonly uniform: (index: number) => number
  /**
   * Fills `target` with deviation * normal(0), deviation * normal(1), ... rounded to the array's
   * type.
   */
  readonly fillNormal: (target: Float32Array | Float64Array, deviation: number) => void
}

interface Word {
  readonly high: number
  readonly low: number
}

const gamma: Word = { high: 0x9e3779b9, low: 0x7f4a7c15 }

/**
 * High 32 bits of the 64-bit product of two unsigned 32-bit integers, as an int32: engines keep
 * those out of the heap.
 */
const multiplyHigh = (a: number, b: number): number => {
  const [aLow, aHigh, bLow, bHigh] = [a & 0xffff, a >>> 16, b & 0xffff, b >>> 16]
  const first = (Math.imul(aHigh, bLow) + (Math.imul(aLow, bLow) >>> 16)) | 0
  const second = (Math.imul(aLow, bHigh) + (first & 0xffff)) | 0
  return (Math.imul(aHigh, bHigh) + (first >>> 16) + (second >>> 16)) | 0
}

const multiply = (a: Word, b: Word): Word => ({
  high: (multiplyHigh(a.low, b.low) + Math.imul(a.high, b.low) + Math.imul(a.low, b.high)) >>> 0,
  low: Math.imul(a.low, b.low) >>> 0
})

const add = (a: Word, b: Word): Word => {
  const low = a.low + b.low
  return { high: (a.high + b.high + (low > 0xffffffff ? 1 : 0)) >>> 0, low: low >>> 0 }
}

/** mix(z)'s high and low words, written to `mixed`: tens of millions are asked for at a time. */
const mixInto = (mixed: Int32Array, zHigh: number, zLow: number): void => {
  let low = zLow ^ ((zLow >>> 30) | (zHigh << 2))
  let high = zHigh ^ (zHigh >>> 30)
  high = (multiplyHigh(low, 0x1ce4e5b9) + Math.imul(high, 0x1ce4e5b9) + Math.imul(low, 0xbf58476d)) | 0
  low = Math.imul(low, 0x1ce4e5b9)
  low ^= (low >>> 27) | (high << 5)
  high ^= high >>> 27
  high = (multiplyHigh(low, 0x133111eb) + Math.imul(high, 0x133111eb) + Math.imul(low, 0x94d049bb)) | 0
  low = Math.imul(low, 0x133111eb)
  mixed[1] = low ^ ((low >>> 31) | (high << 1))
  mixed[0] = high ^ (high >>> 31)
}

const mix = ({ high, low }: Word): Word => {
  const mixed = new Int32Array(2)
  mixInto(mixed, high, low)
  return { high: mixed[0]! >>> 0, low: mixed[1]! >>> 0 }
}

const toWord = (integer: number): Word => ({ high: Math.floor(integer / 2 ** 32) >>> 0, low: integer >>> 0 })

const hash = (name: string): Word =>
  Buffer.from(name, 'utf8').reduce<Word>(
    (state, byte) => multiply({ high: state.high, low: (state.low ^ byte) >>> 0 }, { high: 0x100, low: 0x1b3 }),
    { high: 0xcbf29ce4, low: 0x84222325 }
  )

/** The stream of random numbers of (seed, name); `seed` is an integer from 0 to 2^53 - 1. */
export const randomStream = (seed: number, name: string): RandomStream => {
  const mixed = mix(add(toWord(seed), gamma))
  const named = hash(name)
  const key: Word = { high: (mixed.high ^ named.high) >>> 0, low: (mixed.low ^ named.low) >>> 0 }
  const mixedIndex = new Int32Array(2)
  /** Returns the number in [0, 1) that the two halves of mix(high, low) make. */
  const fraction = (high: number, low: number): number => {
    mixInto(mixedIndex, high, low)
    return ((mixedIndex[0]! >>> 0) * 2 ** 21 + (mixedIndex[1]! >>> 11)) * 2 ** -53
  }
  return {
    uniform: (index) => {
      const { high, low } = add(key, multiply(toWord(index + 1), gamma))
      return fraction(high, low)
    },
    fillNormal: (target, deviation) => {
      // Of key + (index + 1) * gamma, word by word.
      let [high, low] = [key.high | 0, key.low | 0]
      const next = (): number => {
        low = (low + gamma.low) | 0
        high = (high + gamma.high + (low >>> 0 < gamma.low ? 1 : 0)) | 0
        return fraction(high, low)
      }
      for (let index = 0; index < target.length; index += 2) {
        const radius = deviation * Math.sqrt(-2 * Math.log(1 - next()))
        const angle = 2 * Math.PI * next()
        target[index] = radius * Math.cos(angle)
        if (index + 1 < target.length) target[index + 1] = radius * Math.sin(angle)
      }
    }
  }
}
