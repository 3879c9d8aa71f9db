import { branchAndBound } from './branch-and-bound'
import { lowestFirstFit } from './first-fit'
import { type Lifetime, type Placement, maxLive } from './placement'
import { layBottom, makeSearchBuffers, orderedBy, preferences } from './search-buffers'

/**
 * Large buffers alone are soon placed, and the small ones lie between them: those of less than this
 * share of what is live at once. Either share is the better one of some Programs.
 */
const smallShares = [1 / 1024, 1 / 256]

/** Heights to search, in parts of what is live at once: most descents lack but a little room. */
const heights = { large: [1, 1.005, 1.02, 1.05, 1.08], all: [1, 1.0025, 1.0075, 1.02, 1.04, 1.07, 1.1] }

/** Orders in which large buffers are placed; what one does not find the other often does. */
const ordersOfLarge = [preferences[0]!, preferences[2]!]

/** A descent without a wrong turn takes a step a buffer; one with many seldom ends soon. */
const stepsPerBuffer = 1.25

/** Of few buffers steps are cheap: as many for large ones by an order, for all by all orders. */
const leastSteps = { large: 1200, all: 2400 }

const stepsFor = (buffers: number, least: number): number => Math.max(Math.ceil(stepsPerBuffer * buffers), least)

/**
 * Offline, for Programs, which are placed by the dozen: first-fit, then searches of few steps
 * (`branchAndBound`) at fixed heights over what is live at once, of large buffers alone with the
 * small ones between them by first-fit, then of all. It ends at what is live at once, or else with
 * the lowest that these find. With `goal` it ends once all lie within so many bytes; where they do
 * not, it answers as without.
 */
export const placeInDescents = (lifetimes: readonly Lifetime[], alignment: number, goal = 0): Placement => {
  const bound = maxLive(lifetimes, alignment).bytes
  const enough = Math.max(bound, goal)
  let best = lowestFirstFit(lifetimes, { alignment }, enough)
  const isEnough = (): boolean => best.peakBytes <= enough
  const take = (other: Placement): void => {
    if (other.peakBytes < best.peakBytes) best = other
  }
  if (isEnough()) return best

  const bottom = layBottom(lifetimes, alignment)
  /** What may be lower than what is found, which ends before the padding of its last buffer. */
  const isLower = (height: number): boolean => height < best.peakBytes + alignment
  /** Offsets of some buffers on the bottom within a height, in steps that the orders share. */
  const searchOf = (indices: readonly number[], orders: typeof preferences, stepLimit: number) => {
    const { sought, sections } = makeSearchBuffers(lifetimes, indices, alignment)
    const ordered = orders.map((traits) => orderedBy(sought, sections, traits))
    return (height: number): ReadonlyMap<number, number> | undefined => {
      const capacity = Math.floor((height - bottom.height) / alignment) * alignment
      const mostOfOrder = Math.max(2 * sought.length, stepLimit / orders.length)
      let left = stepLimit
      for (const { buffers, sectioned } of ordered) {
        const { verdict, steps, offsets } = branchAndBound(sectioned, capacity, Math.min(left, mostOfOrder))
        if (verdict === 'found') return new Map(buffers.map(({ index }, at) => [index, offsets[at]!]))
        if (verdict === 'impossible' || (left -= steps) <= 0) return undefined
      }
      return undefined
    }
  }
  for (const share of smallShares) {
    const large = bottom.passing.filter((index) => lifetimes[index]!.bytes >= share * bound)
    if (large.length === bottom.passing.length) continue
    for (const order of ordersOfLarge) {
      const search = searchOf(large, [order], stepsFor(large.length, leastSteps.large))
      for (const height of heights.large.map((part) => part * bound)) {
        const found = isLower(height) ? search(height) : undefined
        if (found === undefined) continue
        take(bottom.placeAround(found))
        break
      }
      if (isEnough()) return best
    }
  }

  const count = bottom.passing.length
  const search = searchOf(bottom.passing, preferences, stepsFor(count, leastSteps.all))
  // Without any room, of many buffers one descent finds nothing.
  const parts = heights.all.filter((part) => part > 1 || stepsPerBuffer * count <= leastSteps.all)
  for (const height of parts.map((part) => part * bound)) {
    const found = isLower(height) ? search(height) : undefined
    if (found === undefined) continue
    take(bottom.placeAll(found))
    break
  }
  return best
}
