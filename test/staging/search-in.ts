import type { DeviceModel } from '../../staging'
import { inOrder, type Order } from '../../staging/graph/order'
import type { StepGraph } from '../../staging/graph/step-graph'
import { lower } from '../../staging/lowering'
import { segmentEstimator } from '../../staging/lowering/cost/estimate'
import { createTimelines } from '../../staging/lowering/cost/timeline'
import { keptBytesEstimator } from '../../staging/strategies/least-kept'
import { wholeGraph } from '../../staging/strategies/plain'
import type { Search } from '../../staging/strategies/strategy'
import { createVariants } from '../../staging/strategies/variants'

/** What a strategy may ask of a graph in an order. */
export const searchIn = (written: StepGraph, device: DeviceModel, order: Order): Search => {
  const graph = inOrder(written, order)
  return {
    order,
    graph,
    device,
    persistentBytes: lower(written, { order, segments: wholeGraph(written) }, device).residentBytes,
    variants: createVariants(graph, device),
    lastVariant: (span) => createVariants(graph, device)(span).at(-1)!,
    estimate: segmentEstimator(graph, device),
    timeline: createTimelines(graph, device),
    keptBytes: keptBytesEstimator(graph, device)
  }
}
