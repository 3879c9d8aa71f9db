import { memoizeByNumber } from '../../memoize'
import type { LeastCost, SegmentOptions } from './segment-options'

/** Prices of a byte that is kept, from the lowest to the highest. */
const priceCount = 12

/** Sums of prices are not exact. */
const rounding = 1e-9

/** Where segments may begin, in order, and what they are then. */
export interface Route {
  readonly positions: readonly number[]
  /** Where a segment that starts here may end. */
  readonly from: (start: number) => readonly number[]
  readonly optionsOf: (from: number, to: number) => SegmentOptions
}

/** Bytes for segments. */
interface Room {
  /** In all, beside persistent tensors. */
  readonly bytes: number
  /** From a position on, however it came to that. */
  readonly from: (position: number) => number
  /** Whether what is kept until backward is a part of it. */
  readonly holdsKept: boolean
  /** Nanoseconds of a byte that is kept, in the times that are bounded. */
  readonly price: number
}

/**
 * Nanoseconds that it takes at least from a position to the end, by the bytes that are kept until
 * there.
 */
export type LeastTime = (position: number) => (keptBytes: number) => number

/** What time there is to be had for a byte, where something is kept or computed again. */
const computePrices = ({ positions, optionsOf }: Route): readonly number[] => {
  const ratios = positions.slice(1).flatMap((to, index) => {
    const [kept, again] = optionsOf(positions[index]!, to).leastCosts()
    if (kept === undefined || again === undefined) return []
    const ratio = (again.nanoseconds - kept.nanoseconds) / (kept.keptBytes - again.keptBytes)
    return ratio > 0 && Number.isFinite(ratio) ? [ratio] : []
  })
  if (ratios.length === 0) return []
  // Several layers that are computed again for the tensors between them give more for less.
  const [low, high] = [Math.min(...ratios) / 8, Math.max(...ratios)]
  return Array.from({ length: priceCount }, (_, index) => low * (high / low) ** (index / (priceCount - 1)))
}

/** What a segment costs, at least: by what is known of it anyway, and by itself. */
interface Cost {
  readonly about: number
  readonly least: () => number
}

/** From each position to the end the least sum of what segments cost. */
const leastSums = ({ positions, from }: Route, costOf: (from: number, to: number) => Cost): ReadonlyMap<number, number> => {
  const sums = new Map([[positions[positions.length - 1]!, 0]])
  for (const start of [...positions.slice(0, -1)].reverse()) {
    let sum = Infinity
    for (const to of from(start)) {
      const [{ about, least }, after] = [costOf(start, to), sums.get(to)!]
      if (about + after < sum) sum = Math.min(sum, least() + after)
    }
    sums.set(start, sum)
  }
  return sums
}

/**
 * Bounds what the rest of a step takes by what it may still keep: for any price of a byte, time and
 * the price of what is kept, less the price of all bytes that are left (Lagrange's relaxation).
 */
export const leastTimes = (route: Route, { bytes, from, holdsKept, price: priceOfKept }: Room): LeastTime => {
  const { positions, optionsOf } = route
  const end = positions[positions.length - 1]!
  const alone = leastSums(route, (start, to) => {
    const { aboutNanoseconds, leastNanoseconds, leastKeptBytes } = optionsOf(start, to)
    const kept = to === end ? 0 : priceOfKept * leastKeptBytes
    return { about: aboutNanoseconds() + kept, least: () => leastNanoseconds(from(start)) + kept }
  })
  if (!holdsKept) return (position) => () => alone.get(position)!
  const priced = computePrices(route).map((price) => {
    const costOf = ({ nanoseconds, keptBytes }: LeastCost): number => nanoseconds + price * keptBytes
    const sums = leastSums(route, (start, to) => {
      const { aboutNanoseconds, minNanoseconds, leastCosts, leastAddedBytes, leastKeptBytes } = optionsOf(start, to)
      // Nothing need be kept of the last one, but it must fit.
      return to === end
        ? { about: aboutNanoseconds() + price * leastAddedBytes, least: () => minNanoseconds() + price * leastAddedBytes }
        : {
            about: aboutNanoseconds() + price * leastKeptBytes,
            least: () => leastCosts().reduce((least, cost) => Math.min(least, costOf(cost)), Infinity)
          }
    })
    return { price, sums }
  })
  return memoizeByNumber((position) => {
    const least = alone.get(position)!
    if (position === end) return () => least
    /** Of each price the price, and the sum less what all bytes cost. */
    const pairs = Float64Array.from(priced.flatMap(({ price, sums }) => [price, sums.get(position)! - price * bytes]))
    return (keptBytes) => {
      let most = 0
      for (let index = 0; index < pairs.length; index += 2) most = Math.max(most, pairs[index + 1]! + pairs[index]! * keptBytes)
      return Math.max(least, (1 - rounding) * most)
    }
  })
}
