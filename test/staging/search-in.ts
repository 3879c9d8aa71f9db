import { createPlan } from '../../staging/plans/plan'
import { segmentEstimator } from '../../staging/lowering/cost/estimate'
import type { Lowering } from '../../staging/lowering/segment/create-scope'
import { buildTimeline } from '../../staging/lowering/cost/timeline'
import { inOrder, type Order } from '../../staging/graph/order'
import { createCandidate } from '../../staging/search'
import { wholeGraph } from '../../staging/strategies/plain'
import type { Search } from '../../staging/strategies/strategy'
import { createVariants } from '../../staging/strategies/variants'

/** What a strategy may ask of a graph in an order. */
export const searchIn = (written: Lowering, order: Order): Search => {
  const lowering = { ...written, graph: inOrder(written.graph, order) }
  return {
    lowering,
    residentBytes: createCandidate(written, createPlan(order, wholeGraph(written.graph))).residentBytes,
    variants: createVariants(lowering),
    estimate: segmentEstimator(lowering),
    timeline: (segments) => buildTimeline(lowering, segments)
  }
}
