import type { LeastPlan } from './budget-errors'
import type { DeviceModel } from './devices/device-model'
import { reducingRanks } from './graph/objective'
import type { StepGraph } from './graph/step-graph'
import { lower, type Lowered } from './lowering'
import { memoize } from './memoize'
import type { PlanSearch } from './plan-search'

/** Each target that is tried is so many times the one before. */
const targetRatio = 1.03

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
  /** The same within a host budget that leaves out the state. */
  readonly beside: PlanSearch
  /** Bytes of state that wait on the host. */
  readonly stateBytes: number
  /** Milliseconds that no plan undercuts. */
  readonly leastMilliseconds: () => number
}

/**
 * What a search finds, or, where that is faster, what it finds for as many more bytes as optimizer
 * state takes, with that state on the host (ZeRO-Offload, Ren 2021). It is asked for targets of a
 * fixed ladder, from the one above that sum downwards, as long as they promise something faster:
 * transfers make no plan faster. So more memory never makes an answer slower.
 */
export const offloadOptimizer = (
  graph: StepGraph,
  device: DeviceModel,
  { resident, beside, stateBytes, leastMilliseconds }: Offloading
): PlanSearch => {
  const targetOf = (rung: number): number => Math.floor(stateBytes * targetRatio ** rung)
  const rungAbove = (bytes: number): number => Math.max(0, Math.ceil(Math.log(bytes / stateBytes) / Math.log(targetRatio)))
  const foundAt = memoize(String, (rung: number) => beside.within(targetOf(rung)))
  const offloaded = memoize(
    ({ plan }: Lowered) => JSON.stringify(plan),
    ({ plan }) => lower(graph, { ...plan, offloadOptimizer: true }, device)
  )
  const fits = (budget: number, { refusedKernel, peakBytes }: Lowered): boolean => refusedKernel() === undefined && peakBytes() <= budget
  return {
    ...resident,
    within: (budget, slowest) => {
      let best = resident.within(budget, slowest)
      const isFaster = ({ milliseconds }: Lowered): boolean => best === undefined || milliseconds() < best.milliseconds()
      if (best !== undefined && best.milliseconds() <= leastMilliseconds()) return best
      for (let rung = rungAbove(budget + stateBytes); rung >= 0; rung--) {
        const found = foundAt(rung)
        if (found === undefined || !isFaster(found)) break
        const one = offloaded(found)
        if (isFaster(one) && fits(budget, one)) best = one
      }
      return best
    },
    least: (below = Infinity) => {
      const before = resident.least(below)
      let least: LeastPlan | undefined = before
      const isLess = (budget: number): boolean => budget < (least?.budget ?? below)
      /** The smallest budget that starts at this rung or above. */
      const reaching = (rung: number): number => (rung === 0 ? 0 : targetOf(rung - 1) - stateBytes + 1)
      const lowest = beside.least((before?.budget ?? below) + stateBytes)
      if (lowest === undefined) return before
      for (let rung = rungAbove(lowest.budget); isLess(reaching(rung)); rung++) {
        const found = foundAt(rung)
        if (found === undefined) continue
        const one = offloaded(found)
        const budget = Math.max(one.peakBytes(), reaching(rung))
        if (one.refusedKernel() === undefined && isLess(budget)) least = { budget, lowered: one }
      }
      return least
    }
  }
}
