import { type SearchResult, branchAndBound } from './branch-and-bound'
import { firstFit, firstFitAround, otherPreferences } from './first-fit'
import { type Allocator, type Lifetime, type Placement, alignUp, maxLive, makePlacement } from './placement'
import { searchWithRestarts, stepsOfSectionStep } from './restarts'
import type { SectionedBuffers } from './section-load'

/** A buffer to search a place for, with what it is preferred by. */
interface Sought {
  readonly index: number
  readonly from: number
  readonly to: number
  readonly bytes: number
  /** Most bytes live at once during its lifetime. */
  readonly total: number
  readonly width: number
  readonly area: number
}

type Trait = 'total' | 'width' | 'area'

/** MiniMalloc's orders of preference: which of the buffers that could come next is tried first. */
const preferences: readonly (readonly Trait[])[] = [
  ['total', 'width', 'area'],
  ['total', 'area', 'width'],
  ['width', 'area', 'total']
]

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

/** Buffers in sections between births and deaths. */
const makeSearchBuffers = (lifetimes: readonly Lifetime[], indices: readonly number[], alignment: number) => {
  const times = [...new Set(indices.flatMap((index) => [lifetimes[index]!.from, lifetimes[index]!.to]))].sort((a, b) => a - b)
  const sectionAt = new Map(times.map((time, section) => [time, section]))
  const load = new Float64Array(times.length)
  const placed = indices.map((index) => {
    const { from, to, bytes } = lifetimes[index]!
    const one = { index, from: sectionAt.get(from)!, to: sectionAt.get(to)!, bytes: alignUp(bytes, alignment), width: to - from }
    for (let section = one.from; section < one.to; section++) load[section]! += one.bytes
    return one
  })
  const sought = placed.map((one): Sought => {
    const total = load.subarray(one.from, one.to).reduce((most, bytes) => Math.max(most, bytes), 0)
    return { ...one, total, area: one.width * one.bytes }
  })
  return { sought, sections: Math.max(0, times.length - 1) }
}

interface Attempt {
  readonly verdict: 'found' | 'impossible' | 'limit'
  readonly steps: number
  /** Offset of each sought buffer by its index; empty unless found. */
  readonly offsets: ReadonlyMap<number, number>
}

/** Buffers in an order of preference. */
const orderedBy = (sought: readonly Sought[], sections: number, traits: readonly Trait[]) => {
  const difference = (a: Sought, b: Sought): number => traits.reduce((sum, trait) => sum || b[trait] - a[trait], 0) || a.index - b.index
  const buffers = [...sought].sort(difference)
  const sectioned: SectionedBuffers = {
    sections,
    from: Int32Array.from(buffers, ({ from }) => from),
    to: Int32Array.from(buffers, ({ to }) => to),
    bytes: Float64Array.from(buffers, ({ bytes }) => bytes)
  }
  return { buffers, sectioned }
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
  const { alignment, capacity = 0, goal = 0, stepLimit = defaultStepLimit(lifetimes.length) } = options
  const bound = maxLive(lifetimes, alignment).bytes
  const enough = Math.max(bound, capacity)
  const isEnough = ({ peakBytes }: Placement): boolean => peakBytes <= Math.max(enough, goal)
  let best = firstFit(lifetimes, options)
  for (const preference of otherPreferences) {
    if (isEnough(best)) return best
    const other = firstFit(lifetimes, options, preference)
    if (other.peakBytes < best.peakBytes) best = other
  }
  if (isEnough(best)) return best

  // Buffers that live throughout can lie at the bottom of any placement.
  const start = lifetimes.reduce((earliest, { from }) => Math.min(earliest, from), Infinity)
  const end = lifetimes.reduce((latest, { to }) => Math.max(latest, to), 0)
  const throughout = ({ from, to }: Lifetime): boolean => from === start && to === end
  const base = lifetimes.map(() => 0)
  let floor = 0
  lifetimes.forEach((lifetime, index) => {
    if (!throughout(lifetime)) return
    base[index] = floor
    floor += alignUp(lifetime.bytes, alignment)
  })
  const indices = lifetimes.flatMap((lifetime, index) => (throughout(lifetime) || lifetime.bytes === 0 ? [] : [index]))
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
      const all = base.map((offset, index) => (offsets.has(index) ? floor + offsets.get(index)! : offset))
      best = makePlacement(lifetimes, all, alignment)
      return
    }
    missed = target
    if (verdict === 'impossible') least = target + alignment
  }
  const large = indices.filter((index) => lifetimes[index]!.bytes >= smallShare * bound)
  if (large.length < indices.length) {
    const limit = Math.min(Math.ceil(share.large * stepLimit), maxStepsForLarge)
    const { offsets, ...tried } = placeLarge(lifetimes, large, alignment, limit)
    steps += tried.steps
    const fixed = lifetimes.flatMap((lifetime, index) => {
      const offset = throughout(lifetime) ? base[index] : offsets.has(index) ? floor + offsets.get(index)! : undefined
      return offset === undefined ? [] : [[index, offset] as const]
    })
    const around = firstFitAround(lifetimes, new Map(fixed), alignment)
    if (offsets.size > 0 && around.peakBytes < best.peakBytes) best = around
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
