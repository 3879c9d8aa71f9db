import type { LeastPlan } from './budget-errors'
import type { KernelKind } from './kernels/kernels'
import type { Lowered } from './lowering'
import { firstWhere } from './strategies/first-where'
import { lazy } from './memoize'
import { findFastest, runsWithin, type PlanSearch } from './plan-search'
import type { Segmentation, SegmentationSearch } from './strategies/strategy'

/**
 * The first target leaves so many bytes beside the persistent tensors, and each next one so many
 * times as many.
 */
const firstTarget = 256
const targetRatio = 1.02

/** Targets above the budget that are tried too: what is planned for is seldom all used. */
const rungsAhead = 4

/** What a strategy finds for targets in bytes, as `SegmentationSearch` has it. */
interface TargetSearch extends Pick<SegmentationSearch, 'leastKept'> {
  readonly persistentBytes: number
  readonly segmentations: (target: number, slowest: number) => readonly Segmentation[]
  /** Whether the first segmentation for a target is the fastest of them. */
  readonly isOrdered: boolean
}

/**
 * A strategy is asked for targets of a fixed ladder, from a few above the budget downwards, until
 * something is exactly within the budget. Its answers take no more time for a higher target, and a
 * larger budget starts higher and accepts more: so it never gets a slower answer, though exact
 * peaks rise and fall along the ladder. `slowest` is in milliseconds of a step.
 */
export const searchTargets = (
  { persistentBytes, segmentations, leastKept, isOrdered }: TargetSearch,
  lowered: (segments: Segmentation) => Lowered,
  maxBytes: number,
  refusedKernel: () => KernelKind | undefined
): PlanSearch => {
  const targets: number[] = []
  for (let rest = firstTarget; rest < 2 * maxBytes; rest *= targetRatio) targets.push(persistentBytes + Math.floor(rest))
  const top = targets.length - 1
  /** Each is lowered when it is looked at: where the first one fits, the others are not. */
  const known = new Map<number, readonly (() => Lowered)[]>()
  const segmentationsAt = (rung: number, slowest: number): readonly Segmentation[] => segmentations(targets[rung]!, slowest)
  const candidatesAt = (rung: number, slowest: number): readonly (() => Lowered)[] => {
    const candidates = known.get(rung) ?? segmentationsAt(rung, slowest).map((segments) => lazy(() => lowered(segments)))
    // None so fast does not say that there is none.
    if (candidates.length > 0 || slowest === Infinity) known.set(rung, candidates)
    return candidates
  }
  const startFor = (budget: number): number => {
    const first = targets.findIndex((target) => target >= budget)
    return first === -1 ? top : Math.min(top, first + rungsAhead)
  }
  /** The smallest budget that starts at this rung or above. */
  const reaching = (rung: number): number => (rung <= rungsAhead ? 0 : targets[rung - rungsAhead - 1]! + 1)

  const leastKeptAt = (rung: number): Segmentation | undefined => leastKept(targets[rung]!)
  /** What keeps least for the lowest rung with anything, and the least budget that finds it. */
  const lowest = lazy((): LeastPlan | undefined => {
    const rung = firstWhere(0, top, (rung) => leastKeptAt(rung) !== undefined)
    const segments = leastKeptAt(rung)
    const least = segments && lowered(segments)
    if (least === undefined || least.refusedKernel() !== undefined) return undefined
    return { budget: Math.max(least.peakBytes(), reaching(rung)), lowered: least }
  })

  /** The fastest on the ladder. */
  const onLadder = (budget: number, slowest: number): Lowered | undefined => {
    for (let rung = startFor(budget); rung >= 0; rung--) {
      const candidates = candidatesAt(rung, slowest)
      // Where a target finds nothing as fast, no smaller one does.
      if (candidates.length === 0) return undefined
      const fits = (candidate: () => Lowered): boolean => runsWithin(budget, candidate())
      const found = isOrdered ? candidates.find(fits)?.() : findFastest(candidates.filter(fits).map((candidate) => candidate()))
      if (found !== undefined) return found
    }
    return undefined
  }
  const within = (budget: number, slowest = Infinity): Lowered | undefined => {
    const found = onLadder(budget, slowest)
    if (found !== undefined || leastKeptAt(startFor(budget)) === undefined) return found
    const least = lowest()
    return least !== undefined && least.budget <= budget && least.lowered.milliseconds() <= slowest ? least.lowered : undefined
  }
  return {
    within,
    leastHost: (budget) => within(budget)?.hostBytes(),
    refusedKernel,
    least: (below = Infinity) => {
      const last = targets.findLastIndex((_, rung) => reaching(rung) < below)
      // Where so much finds nothing, nothing less does.
      if (leastKeptAt(last) === undefined) return undefined
      const least = lowest()
      return least !== undefined && least.budget < below ? least : undefined
    }
  }
}
