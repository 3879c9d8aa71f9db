import type { LeastPlan } from './budget-errors'
import type { DeviceModel } from './devices/device-model'
import { reducingRanks } from './graph/objective'
import type { StepGraph } from './graph/step-graph'
import { lowerAgain } from './lower-again'
import { lower, type Lowered } from './lowering'
import { lazy } from './memoize'
import { findFastest, runsWithin, type PlanSearch } from './plan-search'

/** Each target that is tried is so many times the one before. */
const targetRatio = 1.02

/** Optimizer state is left where it is, where it is a smaller share than this of plain's memory. */
const leastShare = 0.02

/**
 * Bytes of optimizer state that may wait on the host; 0 where ranks add gradients, whose slices of
 * it stay, and where it is little of what `plain` needs.
 */
export const offloadableBytes = (graph: StepGraph, device: DeviceModel, plain: Lowered): number => {
  const { objective, shard } = graph
  if (objective.kind !== 'train' || reducingRanks(objective) !== undefined || shard !== undefined) return 0
  const bytes = plain.residentBytes - lower(graph, { ...plain.plan, offloadOptimizer: true }, device).residentBytes
  return bytes < leastShare * plain.peakBytes() ? 0 : bytes
}

/** What is searched with, and for. */
interface Offloading {
  /** What is found with all state on the device, within the whole host budget. */
  readonly resident: PlanSearch
  /** What is found that moves nothing else to the host. */
  readonly alone: PlanSearch
  /** What is found within a host budget that leaves out the state. */
  readonly beside: PlanSearch
  /** Bytes of state that wait on the host. */
  readonly stateBytes: number
  /** Milliseconds that no plan undercuts. */
  readonly leastMilliseconds: () => number
  /** Whether swapping is likely to be fast with so many bytes on the device. */
  readonly swapsFirst: (deviceBytes: number) => boolean
}

/** A search's answers to the targets of the ladder, by rung; beyond `slowest` perhaps none. */
const rememberAnswers = (
  search: PlanSearch,
  targetOf: (rung: number) => number
): ((rung: number, slowest?: number) => Lowered | undefined) => {
  const known = new Map<number, Lowered>()
  return (rung, slowest) => {
    const found = known.get(rung) ?? search.within(targetOf(rung), slowest)
    if (found !== undefined) known.set(rung, found)
    return found
  }
}

/** Of the least that moving the state has added to steps so far, what it adds to any at least. */
const likelyShare = 0.9

/** Where state takes more than this of a budget, plans with it on the host are searched first. */
const largeShare = 1 / 3

/**
 * What a search finds, or, where that is faster, what is found for as many more bytes as optimizer
 * state takes, with that state on the host (ZeRO-Offload, Ren 2021), for targets of a fixed ladder
 * from that sum downwards. Of what moves nothing else all are tried that may be faster, so that
 * more memory never makes an answer slower; of all else the first that fits, since its own
 * transfers may hide worse beside those of the state. Where nothing fits, what needs least beside
 * the state.
 */
export const offloadOptimizer = (
  graph: StepGraph,
  device: DeviceModel,
  { resident, alone, beside, stateBytes, leastMilliseconds, swapsFirst }: Offloading
): PlanSearch => {
  const targetOf = (rung: number): number => Math.floor(stateBytes * targetRatio ** rung)
  const rungAbove = (bytes: number): number => Math.max(0, Math.ceil(Math.log(bytes / stateBytes) / Math.log(targetRatio)))
  const [aloneAt, besideAt] = [rememberAnswers(alone, targetOf), rememberAnswers(beside, targetOf)]
  const offloaded = lowerAgain(graph, device, { offloadOptimizer: true })
  const fasterOf = (...found: readonly (Lowered | undefined)[]): Lowered | undefined => findFastest(found.flatMap((one) => one ?? []))
  const isLeast = (best: Lowered | undefined): boolean => best !== undefined && best.milliseconds() <= leastMilliseconds()
  /** What needs least beside the state, with that on the host. */
  const lowest = lazy((): LeastPlan | undefined => {
    const found = beside.least()
    const one = found && offloaded(found.lowered)
    return one === undefined || one.refusedKernel() !== undefined ? undefined : { budget: one.peakBytes(), lowered: one }
  })
  return {
    ...resident,
    within: (budget, slowest) => {
      const keeping = (best?: Lowered): Lowered | undefined =>
        isLeast(best) ? best : fasterOf(best, resident.within(budget, best?.milliseconds() ?? slowest))
      const offloading =
        (foundAt: typeof aloneAt, triesAll: boolean) =>
        (before?: Lowered): Lowered | undefined => {
          if (isLeast(before)) return before
          let best = before
          let leastAdded: number | undefined
          for (let rung = rungAbove(budget + stateBytes + 1) - 1; rung >= 0; rung--) {
            const most = (best?.milliseconds() ?? slowest ?? Infinity) - likelyShare * (leastAdded ?? 0)
            const found = foundAt(rung, most)
            // A smaller target never takes less time.
            if (found === undefined || (best !== undefined && found.milliseconds() >= most)) break
            const one = offloaded(found)
            leastAdded = Math.min(leastAdded ?? Infinity, one.milliseconds() - found.milliseconds())
            if (!runsWithin(budget, one)) continue
            best = fasterOf(best, one)
            if (!triesAll) break
          }
          return best
        }
      const [withoutSwaps, withSwaps] = [offloading(aloneAt, true), offloading(besideAt, false)]
      const moving = (best?: Lowered): Lowered | undefined => {
        if (swapsFirst(budget + stateBytes)) return withoutSwaps(withSwaps(best))
        const found = withoutSwaps(best)
        // What is swapped need not be computed again.
        return found === best || found?.plan.segments.some(({ rematerialize }) => rematerialize === true) ? withSwaps(found) : found
      }
      const found = stateBytes > largeShare * budget ? keeping(moving()) : moving(keeping())
      if (found !== undefined || slowest !== undefined) return found
      const least = lowest()
      return least !== undefined && least.budget <= budget ? least.lowered : undefined
    },
    least: (below = Infinity) => {
      const before = resident.least(below)
      const least = lowest()
      return least !== undefined && least.budget < (before?.budget ?? below) ? least : before
    }
  }
}
