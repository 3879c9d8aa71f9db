import { type SearchResult, branchAndBound } from './branch-and-bound'
import { lowestFirstFit } from './first-fit'
import { type Allocator, type Lifetime, type Placement, maxLive } from './placement'
import { searchWithRestarts, stepsOfSectionStep } from './restarts'
import { type Sought, layBottom, makeSearchBuffers, orderedBy, preferences } from './search-buffers'

/** Steps to try by default: a search of at most some tens of seconds, for any number of buffers. */
const defaultStepLimit = (buffers: number): number => Math.ceil(5e9 / Math.max(buffers, 200))

/**
 * Steps that a search gets before restarts are tried: with fewer, as for Programs, there are none.
 */
const stepsBeforeRestarts = (buffers: number): number => Math.max(5000, 40 * buffers)

/** Of further steps, what restarts get; branch-and-bound, which proves more, has the rest. */
const restartShare = 7 / 8

/** What restarts keep of what is left at each depth takes too much memory for more buffers. */
const maxBuffersOfRestarts = 4096

interface Attempt {
  readonly verdict: 'found' | 'impossible' | 'limit'
  readonly steps: number
  /** Offset of each sought buffer by its index; empty unless found. */
  readonly offsets: ReadonlyMap<number, number>
}

/**
 * Searches in turn by each preference, each time four times as long: some find in moments what
 * others never would. What that does not find in its first steps is then searched with restarts.
 */
const createAttempts = (sought: readonly Sought[], sections: number): ((capacity: number, stepLimit: number) => Attempt) => {
  const orders = preferences.map((traits) => orderedBy(sought, sections, traits))
  return (capacity, stepLimit) => {
    let steps = 0
    let mayRestart = sought.length <= maxBuffersOfRestarts
    const attemptOf = ({ verdict, offsets }: SearchResult, buffers: readonly Sought[]): Attempt => ({
      verdict,
      steps,
      offsets: new Map(verdict === 'found' ? buffers.map(({ index }, at) => [index, offsets[at]!]) : [])
    })
    for (let each = 2 * sought.length; ; each *= 4)
      for (const { buffers, sectioned } of orders) {
        const before = mayRestart ? Math.min(stepLimit, stepsBeforeRestarts(sought.length)) : stepLimit
        const tried = branchAndBound(sectioned, capacity, Math.min(each, before - steps))
        steps += tried.steps
        if (tried.verdict !== 'limit' || steps >= stepLimit) return attemptOf(tried, buffers)
        if (steps < before) continue
        mayRestart = false
        const limit = Math.floor((restartShare * (stepLimit - steps)) / stepsOfSectionStep)
        const restarted = searchWithRestarts(sectioned, capacity, limit)
        steps += stepsOfSectionStep * restarted.steps
        if (restarted.verdict !== 'limit') return attemptOf(restarted, buffers)
      }
  }
}

/**
 * Shares of the steps: for the most that is live at once or for a capacity above it, for large
 * buffers alone, for any other height.
 */
const share = { bound: 1 / 2, capacity: 3 / 4, large: 1 / 4, other: 1 / 8 }

/** Large buffers alone are placed in few steps or in none. */
const maxStepsForLarge = 200_000

/**
 * Buffers below this share of what is live at once find room between the others: searched with
 * them, they hide what fits.
 */
const smallShare = 1 / 1024

/** Some buffers alone in as much as they need at once; no offsets where that is not found. */
const placeLarge = (lifetimes: readonly Lifetime[], indices: readonly number[], alignment: number, stepLimit: number): Attempt => {
  const { sought, sections } = makeSearchBuffers(lifetimes, indices, alignment)
  const { bytes } = maxLive(
    indices.map((index) => lifetimes[index]!),
    alignment
  )
  return createAttempts(sought, sections)(bytes, stepLimit)
}

/**
 * No lower height is sought than this much below what is found: halving would spend steps on bytes.
 */
const tolerance = 0.001

/**
 * Offline: first-fit, by size and by other preferences; then, unless that needs no more than what
 * is live at once, searches: for the large buffers alone, with the small ones between them by
 * first-fit; for all in the most that is live at once, and in the capacity if that is more; then
 * for heights halfway between what is found and what is not. Each is a branch-and-bound first
 * (Moffitt 2023); with steps left, restarts follow. It ends within the capacity, at a height that
 * is proved to be the lowest, or at the step limit; steps, not clocks, decide, so it is
 * deterministic.
 */
export const placeStatic: Allocator = (lifetimes, options) => {
  const { alignment, capacity = 0, stepLimit = defaultStepLimit(lifetimes.length) } = options
  const bound = maxLive(lifetimes, alignment).bytes
  const enough = Math.max(bound, capacity)
  const isEnough = ({ peakBytes }: Placement): boolean => peakBytes <= enough
  let best = lowestFirstFit(lifetimes, options, enough)
  if (isEnough(best)) return best

  const { height: floor, passing: indices, placeAll, placeAround } = layBottom(lifetimes, alignment)
  const { sought, sections } = makeSearchBuffers(lifetimes, indices, alignment)
  const attempt = createAttempts(sought, sections)

  /** Nothing lower than `least` is possible; nothing as low as `missed` was found. */
  let [least, missed, steps] = [bound, bound - alignment, 0]
  const stepsOf = (part: number): number => Math.min(Math.ceil(part * stepLimit), stepLimit - steps)
  const seek = (target: number, part: number): void => {
    // Offsets are multiples of the alignment, from the top down too.
    const capacity = Math.floor((target - floor) / alignment) * alignment
    const { verdict, offsets, ...tried } = attempt(capacity, stepsOf(part))
    steps += tried.steps
    if (verdict === 'found') {
      best = placeAll(offsets)
      return
    }
    missed = target
    if (verdict === 'impossible') least = floor + capacity + alignment
  }
  const large = indices.filter((index) => lifetimes[index]!.bytes >= smallShare * bound)
  if (large.length < indices.length) {
    const limit = Math.min(Math.ceil(share.large * stepLimit), maxStepsForLarge)
    const { offsets, ...tried } = placeLarge(lifetimes, large, alignment, limit)
    steps += tried.steps
    const around = offsets.size > 0 ? placeAround(offsets) : best
    if (around.peakBytes < best.peakBytes) best = around
  }
  if (!isEnough(best) && capacity > bound) seek(bound, Math.min(share.other, stepsBeforeRestarts(sought.length) / stepLimit))
  if (!isEnough(best)) seek(enough, capacity > bound ? share.capacity : share.bound)
  // In fewer steps than there are buffers nothing is found.
  const mayFind = (): boolean => steps < stepLimit && stepsOf(share.other) >= sought.length
  while (!isEnough(best) && mayFind() && best.peakBytes - missed > Math.max(alignment, tolerance * best.peakBytes)) {
    const middle = Math.floor((missed + best.peakBytes) / 2 / alignment) * alignment
    seek(Math.max(middle, missed + alignment), share.other)
  }
  return { ...best, optimal: best.optimal || best.peakBytes <= least }
}
