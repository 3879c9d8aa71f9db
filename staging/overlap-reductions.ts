import type { DeviceModel } from './devices/device-model'
import { reducingRanks } from './graph/objective'
import type { StepGraph } from './graph/step-graph'
import { lower, type Lowered } from './lowering'
import { memoize } from './memoize'
import type { PlanSearch } from './plan-search'

/**
 * What a search finds, but ranks that share micro-batches alone add gradients beside the backward
 * pass where the pieces that travel then fit the budget too: so a plan is the same for any number
 * of them. Nothing else of it changes, so numbers keep their bits.
 */
export const overlapReductions = (graph: StepGraph, device: DeviceModel, search: PlanSearch): PlanSearch => {
  if (reducingRanks(graph.objective) === undefined || graph.shard !== undefined) return search
  const overlapped = memoize(
    ({ plan }: Lowered) => JSON.stringify(plan),
    ({ plan }) => lower(graph, { ...plan, overlapReduction: true }, device)
  )
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
