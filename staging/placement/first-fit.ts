import { createPlacedBuffers } from './placed-buffers'
import { type Lifetime, type Placement, type PlacementOptions, alignUp, makePlacement } from './placement'

/**
 * Offline placement around what has an offset: of the rest the largest first, each at the lowest
 * offset that is free for all of its life.
 */
export const firstFitAround = (lifetimes: readonly Lifetime[], fixed: ReadonlyMap<number, number>, alignment: number): Placement => {
  const placed = createPlacedBuffers(lifetimes, alignment)
  fixed.forEach((offset, index) => placed.insert(lifetimes[index]!, offset))
  const rest = lifetimes.flatMap((_, index) => (fixed.has(index) ? [] : [index]))
  const offsets = lifetimes.map((_, index) => fixed.get(index) ?? 0)
  for (const index of rest.sort((a, b) => lifetimes[b]!.bytes - lifetimes[a]!.bytes || a - b)) {
    offsets[index] = placed.lowestGap(lifetimes[index]!, 0)
    placed.insert(lifetimes[index]!, offsets[index]!)
  }
  return makePlacement(lifetimes, offsets, alignment)
}

/** Which of two buffers is placed first: the one with more of this, a number for each. */
type Preference = (one: Lifetime) => number

const bySize: Preference = ({ bytes }) => bytes

/**
 * Other orders, each of which needs less than the largest first for some lifetimes: by bytes times
 * duration; by size to a factor of four, then by duration.
 */
const otherPreferences: readonly Preference[] = [
  ({ bytes, from, to }) => bytes * (to - from),
  ({ bytes, from, to }) => Math.floor(Math.log2(Math.max(1, bytes)) / 2) * 2 ** 32 + to - from
]

/**
 * Offline placement: by preference, the largest first by default, each at the lowest offset where
 * it overlaps no placed buffer in time and space. Buffers that live throughout lie below all
 * others, since they bound everything. Deterministic: ties keep their order.
 */
export const firstFit = (lifetimes: readonly Lifetime[], { alignment }: PlacementOptions, preference = bySize): Placement => {
  const end = lifetimes.reduce((latest, { to }) => Math.max(latest, to), 0)
  const indices = lifetimes.map((_, index) => index)
  const throughout = (index: number): boolean => lifetimes[index]!.from === 0 && lifetimes[index]!.to === end
  const offsets = new Array<number>(lifetimes.length).fill(0)
  let floor = 0
  for (const index of indices.filter(throughout)) {
    offsets[index] = floor
    floor = alignUp(floor + lifetimes[index]!.bytes, alignment)
  }
  const preferred = lifetimes.map(preference)
  const passing = indices.filter((index) => !throughout(index)).sort((a, b) => preferred[b]! - preferred[a]! || a - b)
  const placed = createPlacedBuffers(lifetimes, alignment)
  for (const index of passing) {
    const wanted = lifetimes[index]!
    offsets[index] = placed.lowestGap(wanted, floor)
    placed.insert(wanted, offsets[index]!)
  }
  return makePlacement(lifetimes, offsets, alignment)
}

/**
 * The lowest that first-fit finds by any preference; those that are left are not tried once one
 * needs no more than `enough` bytes.
 */
export const lowestFirstFit = (lifetimes: readonly Lifetime[], options: PlacementOptions, enough: number): Placement => {
  let best = firstFit(lifetimes, options)
  for (const preference of otherPreferences) {
    if (best.peakBytes <= enough) break
    const other = firstFit(lifetimes, options, preference)
    if (other.peakBytes < best.peakBytes) best = other
  }
  return best
}
