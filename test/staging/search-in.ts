import { createPlan } from '../../staging/plans/plan'
import { segmentEstimator } from '../../staging/lowering/cost/estimate'
import type { Lowering } from '../../staging/lowering/segment/create-scope'
import { timelineOf } from '../../staging/lowering/cost/timeline'
import { inOrder, type Order } from '../../staging/graph/order'
import { candidateOf } from '../../staging/search'
import { wholeGraph } from '../../staging/strategies/plain'
import type { Search } from '../../staging/strategies/strategy'
import { variantsOf } from '../../staging/strategies/variants'

/** What a strategy may ask of a graph in an order. */
export const searchIn = (written: Lowering, order: Order): Search => {
  const lowering = { ...written, graph: inOrder(written.graph, order) }
  return {
    lowering,
    residentBytes: candidateOf(written, createPlan(order, wholeGraph(written.graph))).residentBytes,
    variants: variantsOf(lowering),
    estimate: segmentEstimator(lowering),
    timeline: (segments) => timelineOf(lowering, segments)
  }
}
