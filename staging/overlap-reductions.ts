import type { DeviceModel } from './devices/device-model'
import { reducingRanks } from './graph/objective'
import type { StepGraph } from './graph/step-graph'
import { lowerAgain } from './lower-again'
import { lower, type Lowered } from './lowering'
import { findFastest, type PlanSearch } from './plan-search'
import type { Plan } from './plans/plan'

/**
 * What a search finds, but ranks that share micro-batches alone add gradients beside the backward
 * pass where the pieces that travel then fit the budget too: so a plan is the same for any number
 * of them. Nothing else of it changes, so numbers keep their bits.
 */
export const overlapReductions = (graph: StepGraph, device: DeviceModel, search: PlanSearch): PlanSearch => {
  if (reducingRanks(graph.objective) === undefined || graph.shard !== undefined) return search
  const overlapped = lowerAgain(graph, device, { overlapReduction: true })
  return {
    ...search,
    within: (budget, slowest) => {
      const found = search.within(budget, slowest)
      if (found === undefined) return undefined
      const beside = overlapped(found)
      return beside.peakBytes() <= budget ? beside : found
    }
  }
}

/** A plan whose ranks compute while they exchange, in the fastest way. */
export const lowerOverlapping: typeof lower = (graph, plan, device) => {
  const paced = (decided: Plan): Lowered => {
    const lowered = lower(graph, { ...decided, overlapReduction: true }, device)
    return findFastest([lowered, lower(graph, { ...decided, overlapReduction: lowered.pacedPieces() }, device)])!
  }
  const hasInnerTiles = plan.segments.some(({ grid }) => grid.H > 1)
  return hasInnerTiles ? findFastest([paced(plan), paced({ ...plan, edgeTilesFirst: true })])! : paced(plan)
}

/**
 * The faster of what is found where ranks that share rows exchange alone, and where they compute
 * meanwhile, which takes more memory.
 */
export const overlapRows = (alone: PlanSearch, beside: PlanSearch): PlanSearch => ({
  ...alone,
  // What is slower alone may be faster beside.
  within: (budget, slowest) => findFastest([alone.within(budget, slowest), beside.within(budget)].flatMap((found) => found ?? [])),
  least: (below) => {
    const least = alone.least(below)
    return beside.least(least?.budget ?? below) ?? least
  }
})
