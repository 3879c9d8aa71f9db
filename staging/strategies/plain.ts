import type { Graph } from '../graph/graph'
import { sourceOrder } from '../graph/order'
import { untiled } from '../graph/span'
import type { Segmentation, Strategy } from './strategy'
import { withVariants } from './variants'

/** One segment, untiled and kept: its forward is followed by its backward. */
export const wholeGraph = (graph: Graph): Segmentation => [
  { from: 0, to: graph.nodes.length, grid: untiled, recompute: false, reorder: 'once' }
]

/** Everything kept, nothing tiled; with direct kernels the yardstick for memory. */
export const plain: Strategy = {
  obeysDirectives: false,
  order: sourceOrder,
  kind: 'fixed',
  all: ({ graph, variants }) => withVariants(variants, wholeGraph(graph))
}
