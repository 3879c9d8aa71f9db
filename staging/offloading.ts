import type { LeastPlan } from './budget-errors'
import { overlapsCopies, type DeviceModel } from './devices/device-model'
import { hasSeparateUpdate, reducingRanks } from './graph/objective'
import type { StepGraph } from './graph/step-graph'
import { lowerAgain } from './lower-again'
import { lower, type Lowered } from './lowering'
import { lazy, memoizePerObject } from './memoize'
import { findFastest, runsWithin, type PlanSearch } from './plan-search'
import type { Plan } from './plans/plan'

/** Each target that is tried is so many times the one before. */
const targetRatio = 1.02

/** Optimizer state is left where it is, where it is a smaller share than this of plain's memory. */
const leastStateShare = 0.02

/** Weights, which pass the link more often, are where they are less than this. */
const leastWeightsShare = 0.1

/** The share of the weights on the host that may be on the device at once. */
const windowShare = 1 / 4

/** What may wait on the host between its uses. */
export interface Offloadable {
  /** As plans have it. */
  readonly decision: Pick<Plan, 'offloadOptimizer' | 'offloadWeights'>
  /** Bytes by which less is on the device throughout. */
  readonly savedBytes: number
  readonly hostBytes: number
  /** Milliseconds that no plan with it undercuts, since it passes the link. */
  readonly linkMilliseconds: number
  /** Milliseconds by which its copies delay computing. */
  readonly delayMilliseconds: number
  /** How many rungs of the ladder of targets are taken at once. */
  readonly rungs: number
}

/**
 * What may wait on the host, that which passes the link least often first: optimizer state, then
 * weights beside it. None where ranks add gradients,
 * whose slices of it stay, and where it is little of what `plain` needs.
 */
export const listOffloadable = (graph: StepGraph, device: DeviceModel, plain: Lowered): readonly Offloadable[] => {
  const { objective, shard } = graph
  if (objective.kind !== 'train' || reducingRanks(objective) !== undefined || shard !== undefined) return []
  const savedBy = (decision: Offloadable['decision']): number =>
    plain.residentBytes - lower(graph, { ...plain.plan, ...decision }, device).residentBytes
  const shareOf = (bytes: number): number => bytes / plain.peakBytes()
  const [allState, weightBytes] = [savedBy({ offloadOptimizer: true }), savedBy({ offloadWeights: 0 })]
  const stateBytes = shareOf(allState) < leastStateShare ? 0 : allState
  const offloadable = (offloadWeights?: number): Offloadable => {
    const [ofWeights, window] = offloadWeights === undefined ? [0, 0] : [weightBytes, offloadWeights]
    // Frozen weights do not return.
    const [toDevice, toHost] = [stateBytes + 2 * ofWeights - window, stateBytes]
    const { linkBytesPerSecond: link, copyBytesPerSecond: copy } = device
    return {
      decision: { ...(stateBytes > 0 && { offloadOptimizer: true as const }), ...(offloadWeights !== undefined && { offloadWeights }) },
      savedBytes: stateBytes + ofWeights - window,
      hostBytes: stateBytes + ofWeights,
      linkMilliseconds: (1e3 * toDevice) / link.toDevice,
      delayMilliseconds: copy === undefined ? 0 : 1e3 * (toDevice / copy.toDevice + toHost / copy.toHost),
      rungs: offloadWeights === undefined ? 1 : 3
    }
  }
  const weighsLittle = shareOf(weightBytes) < leastWeightsShare
  return [...(stateBytes > 0 ? [offloadable()] : []), ...(weighsLittle ? [] : [offloadable(Math.floor(windowShare * weightBytes))])]
}

/** What is searched with, and for. */
interface Offloading {
  /** What is found with all of it on the device, within the whole host budget. */
  readonly resident: PlanSearch
  /** What is found that moves nothing else to the host. */
  readonly alone: PlanSearch
  /** What is found within a host budget that leaves out the state, if not the weights. */
  readonly beside: PlanSearch
  /** Bytes. */
  readonly hostBudget: number
  /** Bytes of the ladder's lowest target. */
  readonly lowestTarget: number
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

/** Of the least that moving has added to steps so far, what it adds to any at least. */
const likelyShare = 0.9

/** What gradients that wait for their state may take where not all may, as a share of its bytes. */
const lesserShare = 1 / 4

/**
 * Where optimizer state, or all that may wait on the host, takes more than these shares of a
 * budget, plans with it there are searched first: what else is found is seldom faster.
 */
const [largeShare, largeShareWithWeights] = [1 / 3, 1]

/**
 * What a search finds, or, where that is faster, what is found for as many more bytes as optimizer
 * state or weights take, with these on the host (ZeRO-Offload, Ren 2021; ZeRO-Infinity, Rajbhandari
 * 2021), for targets of a fixed ladder from that sum downwards. Of what moves nothing else all are
 * tried that may be faster, so that more memory never makes an answer slower; of all else the first
 * that fits, since its own transfers may hide worse beside those. Where nothing fits, what needs
 * least beside them.
 */
export const offload = (
  graph: StepGraph,
  device: DeviceModel,
  { decision, savedBytes, linkMilliseconds, delayMilliseconds, rungs }: Offloadable,
  { resident, alone, beside, hostBudget, lowestTarget, leastMilliseconds, swapsFirst }: Offloading
): PlanSearch => {
  const targetOf = (rung: number): number => Math.floor(lowestTarget * targetRatio ** rung)
  const rungBelow = (bytes: number): number =>
    rungs * Math.floor(Math.max(-1, Math.ceil(Math.log(bytes / lowestTarget) / Math.log(targetRatio)) - 1) / rungs)
  const [aloneAt, besideAt] = [rememberAnswers(alone, targetOf), rememberAnswers(beside, targetOf)]
  const offloaded = lowerAgain(graph, device, decision)
  const updatesInStep = decision.offloadOptimizer !== undefined && !hasSeparateUpdate(graph.objective)
  const mayPace = updatesInStep && decision.offloadWeights === undefined && overlapsCopies(device)
  /** What updates at once and, where that pays, what computes on while state comes. */
  const listPaces = memoizePerObject(
    () => 0,
    (atOnce: Lowered): readonly Lowered[] => {
      const paced = (share: number): Lowered =>
        lower(graph, { ...atOnce.plan, offloadOptimizer: atOnce.pacedUpdates(share * savedBytes) }, device)
      const freely = mayPace ? paced(1) : atOnce
      return freely.milliseconds() < atOnce.milliseconds() ? [freely, paced(lesserShare), atOnce] : [atOnce]
    }
  )
  const fasterOf = (...found: readonly (Lowered | undefined)[]): Lowered | undefined => findFastest(found.flatMap((one) => one ?? []))
  const isWithin = (best: Lowered | undefined, milliseconds: number): boolean => best !== undefined && best.milliseconds() <= milliseconds
  /** What needs least beside what is on the host. */
  const lowest = lazy((): LeastPlan | undefined => {
    const found = beside.least()
    const one = found && offloaded(found.lowered)
    return one === undefined || one.refusedKernel() !== undefined || one.hostBytes() > hostBudget
      ? undefined
      : { budget: one.peakBytes(), lowered: one }
  })
  return {
    ...resident,
    within: (budget, slowest) => {
      const keeping = (best?: Lowered): Lowered | undefined =>
        isWithin(best, leastMilliseconds()) ? best : fasterOf(best, resident.within(budget, best?.milliseconds() ?? slowest))
      // Swaps beside it leave the link less room.
      let leastAddedAlone: number | undefined
      const offloading =
        (foundAt: typeof aloneAt, triesAll: boolean) =>
        (before?: Lowered): Lowered | undefined => {
          if (isWithin(before, Math.max(linkMilliseconds, leastMilliseconds() + delayMilliseconds))) return before
          let best = before
          let leastAdded = leastAddedAlone
          for (let rung = rungBelow(budget + savedBytes + 1); rung >= 0; rung -= rungs) {
            const most = (best?.milliseconds() ?? slowest ?? Infinity) - likelyShare * (leastAdded ?? 0)
            const found = foundAt(rung, most)
            // A smaller target never takes less time.
            if (found === undefined || (best !== undefined && found.milliseconds() >= most)) break
            const paces = triesAll ? listPaces(offloaded(found)) : [offloaded(found)]
            leastAdded = Math.min(leastAdded ?? Infinity, ...paces.map((one) => one.milliseconds() - found.milliseconds()))
            const fitting = paces.filter((one) => runsWithin(budget, one) && one.hostBytes() <= hostBudget)
            if (fitting.length === 0) continue
            best = fasterOf(best, ...fitting)
            if (!triesAll) break
          }
          if (triesAll) leastAddedAlone = leastAdded
          return best
        }
      const [withoutSwaps, withSwaps] = [offloading(aloneAt, true), offloading(besideAt, false)]
      const moving = (best?: Lowered): Lowered | undefined => {
        if (swapsFirst(budget + savedBytes)) return withoutSwaps(withSwaps(best))
        const found = withoutSwaps(best)
        // What is swapped need not be computed again.
        return found === best || found?.plan.segments.some(({ rematerialize }) => rematerialize === true) ? withSwaps(found) : found
      }
      const movesFirst = savedBytes > (decision.offloadWeights === undefined ? largeShare : largeShareWithWeights) * budget
      const found = movesFirst ? keeping(moving()) : moving(keeping())
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
