import type { LeastCost, SegmentOptions } from './segment-options'

/** Prices of a byte that is kept, as parts of the way from the lowest to the highest. */
const priceCount = 16

/** Sums of prices are not exact. */
const rounding = 1e-9

/** Where segments may begin, in order, and end, and what they are then. */
interface Route {
  readonly positions: readonly number[]
  readonly from: (start: number) => readonly number[]
  readonly optionsOf: (from: number, to: number) => SegmentOptions
}

/** Nanoseconds that it takes at least from a position to the end. */
export type LeastTime = (position: number, keptBytes: number) => number

/** What time there is to be had for a byte, where something is kept or computed again. */
const pricesOf = ({ positions, optionsOf }: Route): readonly number[] => {
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

/**
 * Bounds what the rest of a step takes by what it may still keep: for any price of a byte, time and
 * the price of what is kept, less the price of all bytes that are left (Lagrange's relaxation).
 */
export const leastTimes = (route: Route, withoutLimit: ReadonlyMap<number, number>, available: number): LeastTime => {
  const { positions, from, optionsOf } = route
  const end = positions[positions.length - 1]!
  const byPrice = pricesOf(route).map((price) => {
    const least = new Map([[end, 0]])
    const costOf = ({ nanoseconds, keptBytes }: LeastCost): number => nanoseconds + price * keptBytes
    for (const start of [...positions.slice(0, -1)].reverse())
      least.set(
        start,
        Math.min(
          ...from(start).map((to) => {
            const { minNanoseconds, leastCosts, leastAddedBytes } = optionsOf(start, to)
            // Nothing need be kept of the last one, but it must fit.
            if (to === end) return minNanoseconds + price * leastAddedBytes
            return Math.min(...leastCosts().map(costOf)) + least.get(to)!
          })
        )
      )
    return { price, least }
  })
  return (position, keptBytes) => {
    let most = withoutLimit.get(position)!
    if (position === end) return most
    for (const { price, least } of byPrice) most = Math.max(most, (1 - rounding) * (least.get(position)! - price * (available - keptBytes)))
    return most
  }
}
