import type { Graph } from '../graph/graph'
import { sourceOrder } from '../graph/order'
import { untiled } from '../graph/span'
import { keptInRows } from './rows'
import type { Segmentation, Strategy } from './strategy'
import { withVariants } from './variants'

/** One segment, untiled and kept: its forward is followed by its backward. */
export const wholeGraph = (graph: Graph): Segmentation => [
  { from: 0, to: graph.nodes.length, grid: untiled, recompute: false, reorder: 'once' }
]

/**
 * Everything kept, nothing tiled; with direct kernels the yardstick for memory. Where ranks share
 * rows, segments end where they exchange them.
 */
export const plain: Strategy = {
  obeysDirectives: false,
  order: sourceOrder,
  kind: 'fixed',
  all: (search) => withVariants(search.variants, search.graph.shard === undefined ? wholeGraph(search.graph) : keptInRows(search))
}
