import type { Lowered } from './lowering'
import { lazy } from './memoize'
import { mayLieIn, type PlanSearch } from './plan-search'
import type { PlanEstimate } from './strategies/strategy'

/** A prospect that is lowered when it comes into question. */
export interface Lowerable extends Omit<PlanEstimate, 'plan' | 'nanoseconds'> {
  /** What it takes at least. */
  readonly milliseconds: () => number
  readonly lowered: () => Lowered
}

/** Prospects that are found together. */
export interface LowerableGroup {
  /** Bytes of the device that they are made for; undefined where they are for any. */
  readonly target: number | undefined
  /** All of them; beyond `slowest` milliseconds perhaps none. */
  readonly prospects: (slowest: number) => readonly Lowerable[]
}

/** Prospects by how slow they may be: those known serve for all that are as fast or faster. */
export const rememberedUpTo = (find: (slowest: number) => readonly Lowerable[]): LowerableGroup['prospects'] => {
  let known: { readonly slowest: number; readonly found: readonly Lowerable[] } | undefined
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
 * What a strategy answers whose plans are the same for any budget: the best of all that there are.
 * None does with fewer bytes than `leastBytes`.
 */
export const prospectAnswers = (hostBudget: number, leastBytes: number, groups: () => readonly LowerableGroup[]): PlanSearch => {
  const known = lazy(groups)
  const all = lazy(() => known().flatMap(({ prospects }) => prospects(Infinity)))
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
      for (const { prospects } of likelyFirst(known(), budget)) {
        const small = prospects(best?.milliseconds() ?? slowest)
          .filter((one) => mayRun(one) && mayFit(one) && mayLieIn(budget, one.deviceBytes))
          .sort((a, b) => a.milliseconds() - b.milliseconds())
        for (const { milliseconds, lowered } of small) {
          if (!mayBeBest(milliseconds())) break
          if (mayBeBest(lowered().milliseconds()) && isWithin(budget, lowered())) best = lowered()
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
