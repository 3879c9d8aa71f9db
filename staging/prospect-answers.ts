import type { Lowered } from './lowering'
import { lazy } from './memoize'
import { alignment } from './placement/placement'
import { mayLieIn, type PlanSearch } from './plan-search'
import type { PlanEstimate } from './strategies/strategy'

/** A prospect that is lowered when it comes into question. */
export interface Lowerable extends Omit<PlanEstimate, 'plan' | 'nanoseconds' | 'leastNanoseconds'> {
  /** No more than `milliseconds`, which take longer to find out. */
  readonly leastMilliseconds: number
  /** What it takes at least. */
  readonly milliseconds: () => number
  readonly lowered: () => Lowered
}

/** Prospects that are alike, and none of which need be made to know what they take at least. */
export interface LowerableFamily {
  /** None that lives in so many bytes on the device takes fewer milliseconds. */
  readonly leastMilliseconds: (deviceBytes: number) => number
  readonly prospects: () => readonly Lowerable[]
}

/** Prospects that are found together. */
export interface LowerableGroup {
  /** Bytes of the device that they are made for; undefined where they are for any. */
  readonly target: number | undefined
  /** All of them; beyond `slowest` milliseconds perhaps none. */
  readonly families: (slowest: number) => readonly LowerableFamily[]
}

/** Families by how slow they may be: those known serve for all that are as fast or faster. */
export const rememberUpTo = (find: (slowest: number) => readonly LowerableFamily[]): LowerableGroup['families'] => {
  let known: { readonly slowest: number; readonly found: readonly LowerableFamily[] } | undefined
  return (slowest) => {
    if (known === undefined || slowest > known.slowest) known = { slowest, found: find(slowest) }
    return known.found
  }
}

/**
 * Groups from the one made for just above a budget downwards, then those above it: the best is
 * likely to be among the first, and then the others need not look at what is slower.
 */
const likelyFirst = (groups: readonly LowerableGroup[], budget: number): readonly LowerableGroup[] => {
  const targetOf = ({ target = 0 }: LowerableGroup): number => target
  const nearest = Math.min(...groups.map(targetOf).filter((target) => target >= budget))
  return [
    ...groups.filter((group) => targetOf(group) <= nearest).sort((a, b) => targetOf(b) - targetOf(a)),
    ...groups.filter((group) => targetOf(group) > nearest).sort((a, b) => targetOf(a) - targetOf(b))
  ]
}

const fewestFirst = (bytes: (one: Lowerable) => number, among: readonly Lowerable[]): readonly Lowerable[] =>
  [...among].sort((a, b) => bytes(a) - bytes(b))

/**
 * Goes through prospects from the fastest on; of those that cannot be as fast as the next one, no
 * time is asked for. Equally fast ones are told apart by their order.
 */
function* fastestFirst(among: readonly Lowerable[]): Generator<Lowerable> {
  const waiting = [...among].reverse().sort((a, b) => b.leastMilliseconds - a.leastMilliseconds)
  /** From the slowest to the fastest. */
  const timed: Lowerable[] = []
  while (waiting.length > 0 || timed.length > 0) {
    const next = waiting.at(-1)
    const fastest = timed.at(-1)
    if (next === undefined || (fastest !== undefined && fastest.milliseconds() < next.leastMilliseconds)) {
      timed.pop()
      yield fastest!
    } else {
      waiting.pop()
      const place = timed.findLastIndex((one) => one.milliseconds() > next.milliseconds())
      timed.splice(place + 1, 0, next)
    }
  }
}

/**
 * What a strategy answers whose plans are the same for any budget: the best of all that there are.
 * None does with fewer bytes than `leastBytes`.
 */
export const prospectAnswers = (hostBudget: number, leastBytes: number, groups: () => readonly LowerableGroup[]): PlanSearch => {
  const known = lazy(groups)
  const all = lazy(() => known().flatMap(({ families }) => families(Infinity).flatMap(({ prospects }) => prospects())))
  const mayRun = ({ refusedKernel }: Lowerable): boolean => refusedKernel === undefined
  const mayFit = ({ hostBytes }: Lowerable): boolean => mayLieIn(hostBudget, hostBytes)
  const isWithin = (budget: number, { refusedKernel, liveBytes, liveHostBytes, peakBytes, hostBytes }: Lowered): boolean =>
    refusedKernel() === undefined &&
    mayLieIn(budget, liveBytes()) &&
    mayLieIn(hostBudget, liveHostBytes()) &&
    peakBytes() <= budget &&
    hostBytes() <= hostBudget
  return {
    within: (budget, slowest = Infinity) => {
      if (budget < leastBytes) return undefined
      let best: Lowered | undefined
      const mayBeBest = (time: number): boolean => (best === undefined ? time <= slowest : time < best.milliseconds())
      for (const { families } of likelyFirst(known(), budget)) {
        const found = families(best?.milliseconds() ?? slowest)
          .map(({ leastMilliseconds, prospects }) => ({ least: leastMilliseconds(budget + alignment), prospects }))
          .sort((a, b) => a.least - b.least)
        for (const { least, prospects } of found) {
          if (!mayBeBest(least)) break
          const small = prospects().filter((one) => mayRun(one) && mayFit(one) && mayLieIn(budget, one.deviceBytes))
          for (const { milliseconds, lowered } of fastestFirst(small)) {
            if (!mayBeBest(milliseconds())) break
            if (mayBeBest(lowered().milliseconds()) && isWithin(budget, lowered())) best = lowered()
          }
        }
      }
      return best
    },
    least: (below = Infinity) => {
      if (below <= leastBytes) return undefined
      let least: Lowered | undefined
      const fitting = all().filter((one) => mayRun(one) && mayFit(one))
      for (const { deviceBytes, lowered } of fewestFirst((one) => one.deviceBytes, fitting)) {
        const budget = (least?.peakBytes() ?? below) - 1
        if (!mayLieIn(budget, deviceBytes)) break
        if (isWithin(budget, lowered())) least = lowered()
      }
      return least && { budget: least.peakBytes(), lowered: least }
    },
    refusedKernel: () => {
      for (const { refusedKernel, lowered } of all()) {
        const refused = refusedKernel ?? lowered().refusedKernel()
        if (refused !== undefined) return refused
      }
      return undefined
    },
    leastHost: (budget) => {
      const small = all().filter((one) => mayRun(one) && mayLieIn(budget, one.deviceBytes))
      let least: number | undefined
      for (const { hostBytes, lowered } of fewestFirst((one) => one.hostBytes, small)) {
        if (!mayLieIn((least ?? Infinity) - 1, hostBytes)) break
        const { refusedKernel, liveBytes, peakBytes } = lowered()
        if (refusedKernel() === undefined && mayLieIn(budget, liveBytes()) && peakBytes() <= budget)
          least = Math.min(least ?? Infinity, lowered().hostBytes())
      }
      return least
    }
  }
}
