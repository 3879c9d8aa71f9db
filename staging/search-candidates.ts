import type { Lowered } from './lowering'
import { lazy } from './memoize'
import { alignment } from './placement/placement'
import { mayLieIn, runsWithin, type PlanSearch } from './plan-search'
import type { PlanEstimate } from './strategies/strategy'

/** A candidate that is lowered when it comes into question. */
export interface Candidate extends Omit<PlanEstimate, 'plan' | 'nanoseconds' | 'leastNanoseconds'> {
  /** No more than `milliseconds`, which take longer to find out. */
  readonly leastMilliseconds: () => number
  /** What it takes at least. */
  readonly milliseconds: () => number
  readonly lowered: () => Lowered
}

/** Candidates that are alike, and none of which need be made to know what they take at least. */
export interface CandidateFamily {
  /** No more than `leastMilliseconds`, which take longer to find out. */
  readonly aboutMilliseconds: (deviceBytes: number) => number
  /** None that lives in so many bytes on the device takes fewer milliseconds. */
  readonly leastMilliseconds: (deviceBytes: number) => number
  readonly candidates: () => readonly Candidate[]
}

/** Candidates that are found together. */
export interface CandidateGroup {
  /** Bytes of the device that they are made for; undefined where they are for any. */
  readonly target: number | undefined
  /**
   * All that may be worth a look with so many bytes on the device; beyond `slowest` milliseconds
   * perhaps none.
   */
  readonly families: (slowest: number, deviceBytes: number) => readonly CandidateFamily[]
}

/**
 * Groups from the one made for just above a budget downwards, then those above it: the best is
 * likely to be among the first, and then the others need not look at what is slower.
 */
const likelyFirst = (groups: readonly CandidateGroup[], budget: number): readonly CandidateGroup[] => {
  const targetOf = ({ target = 0 }: CandidateGroup): number => target
  const nearest = Math.min(...groups.map(targetOf).filter((target) => target >= budget))
  return [
    ...groups.filter((group) => targetOf(group) <= nearest).sort((a, b) => targetOf(b) - targetOf(a)),
    ...groups.filter((group) => targetOf(group) > nearest).sort((a, b) => targetOf(a) - targetOf(b))
  ]
}

/**
 * Groups from the smallest target upwards, to the first one that is no smaller than the budget is
 * then: what is made for more seldom does with less.
 */
function* upTo(groups: readonly CandidateGroup[], budget: () => number): Generator<CandidateGroup> {
  const targetOf = ({ target = 0 }: CandidateGroup): number => target
  let last = 0
  for (const group of [...groups].sort((a, b) => targetOf(a) - targetOf(b))) {
    if (targetOf(group) > last && last >= budget()) return
    last = targetOf(group)
    yield group
  }
}

const fewestFirst = (bytes: (one: Candidate) => number, among: readonly Candidate[]): readonly Candidate[] =>
  [...among].sort((a, b) => bytes(a) - bytes(b))

/**
 * Goes through some that may be worth it from the one that takes `exactly` least time on; of those
 * that take at least as much as the next one, or are not worth it by that, it is not asked for.
 * Equally fast ones are told apart by their order.
 */
function* fastestFirst<A>(
  among: readonly A[],
  atLeast: (one: A) => number,
  exactly: (one: A) => number,
  isWorth: (time: number) => boolean
): Generator<A> {
  const waiting = [...among].reverse().map((one) => ({ one, time: atLeast(one) }))
  waiting.sort((a, b) => b.time - a.time)
  /** From the slowest to the fastest. */
  const timed: typeof waiting = []
  while (waiting.length > 0 || timed.length > 0) {
    const [next, fastest] = [waiting.at(-1), timed.at(-1)]
    if (next === undefined || (fastest !== undefined && fastest.time < next.time)) {
      timed.pop()
      if (!isWorth(fastest!.time)) return
      yield fastest!.one
    } else if (!isWorth(next.time)) waiting.length = 0
    else {
      waiting.pop()
      const time = exactly(next.one)
      timed.splice(timed.findLastIndex((one) => one.time > time) + 1, 0, { one: next.one, time })
    }
  }
}

/**
 * What a strategy answers whose plans are the same for any budget: the best of all that there are.
 * None does with fewer bytes than `leastBytes`.
 */
export const searchCandidates = (hostBudget: number, leastBytes: number, groups: () => readonly CandidateGroup[]): PlanSearch => {
  const known = lazy(groups)
  /** All that may be worth a look with so many bytes on the device, however slow. */
  const candidatesWithin = (deviceBytes: number): readonly Candidate[] =>
    known().flatMap(({ families }) => families(Infinity, deviceBytes).flatMap(({ candidates }) => candidates()))
  const mayRun = ({ refusedKernel }: Candidate): boolean => refusedKernel === undefined
  const mayFit = ({ hostBytes }: Candidate): boolean => mayLieIn(hostBudget, hostBytes)
  const isOnHost = ({ liveHostBytes, hostBytes }: Lowered): boolean => mayLieIn(hostBudget, liveHostBytes()) && hostBytes() <= hostBudget
  /** Budgets for which nothing was found, however much there is on the host. */
  const hopeless = new Set<number>()
  return {
    within: (budget, slowest = Infinity) => {
      if (budget < leastBytes || hopeless.has(budget)) return undefined
      let best: Lowered | undefined
      let wantsHost = false
      const fitsHost = (fits: boolean): boolean => {
        wantsHost ||= !fits
        return fits
      }
      // What takes infinitely long cannot be at all.
      const mayBeBest = (time: number): boolean => time < Infinity && (best === undefined ? time <= slowest : time < best.milliseconds())
      const bytes = budget + alignment
      for (const { families: familiesOf } of likelyFirst(known(), budget)) {
        const families = familiesOf(best?.milliseconds() ?? slowest, bytes)
        const [about, least] = [
          (one: CandidateFamily) => one.aboutMilliseconds(bytes),
          (one: CandidateFamily) => one.leastMilliseconds(bytes)
        ]
        for (const { candidates } of fastestFirst(families, about, least, mayBeBest)) {
          const small = candidates().filter((one) => mayRun(one) && mayLieIn(budget, one.deviceBytes) && fitsHost(mayFit(one)))
          const [atLeast, exactly] = [(one: Candidate) => one.leastMilliseconds(), (one: Candidate) => one.milliseconds()]
          for (const { lowered } of fastestFirst(small, atLeast, exactly, mayBeBest))
            if (mayBeBest(lowered().milliseconds()) && runsWithin(budget, lowered()) && fitsHost(isOnHost(lowered()))) best = lowered()
        }
      }
      if (best === undefined && slowest === Infinity && !wantsHost) hopeless.add(budget)
      return best
    },
    least: (below = Infinity) => {
      if (below <= leastBytes) return undefined
      let least: Lowered | undefined
      const budget = (): number => (least?.peakBytes() ?? below) - 1
      for (const { families } of upTo(known(), budget)) {
        for (const { leastMilliseconds, candidates } of families(Infinity, budget() + alignment)) {
          if (leastMilliseconds(budget() + alignment) === Infinity) continue
          const fitting = candidates().filter((one) => mayRun(one) && mayFit(one))
          for (const { deviceBytes, lowered } of fewestFirst((one) => one.deviceBytes, fitting)) {
            if (!mayLieIn(budget(), deviceBytes)) break
            if (runsWithin(budget(), lowered()) && isOnHost(lowered())) least = lowered()
          }
        }
      }
      return least && { budget: least.peakBytes(), lowered: least }
    },
    refusedKernel: () => {
      for (const { refusedKernel, lowered } of candidatesWithin(Infinity)) {
        const refused = refusedKernel ?? lowered().refusedKernel()
        if (refused !== undefined) return refused
      }
      return undefined
    },
    leastHost: (budget) => {
      if (budget < leastBytes || hopeless.has(budget)) return undefined
      const small = candidatesWithin(budget + alignment).filter((one) => mayRun(one) && mayLieIn(budget, one.deviceBytes))
      let least: number | undefined
      for (const { hostBytes, lowered } of fewestFirst((one) => one.hostBytes, small)) {
        if (!mayLieIn((least ?? Infinity) - 1, hostBytes)) break
        if (runsWithin(budget, lowered())) least = Math.min(least ?? Infinity, lowered().hostBytes())
      }
      return least
    }
  }
}
