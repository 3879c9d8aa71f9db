import type { Graph } from '../graph'
import type { Segment } from '../plan'
import { untiled } from '../tiling'
import type { Strategy } from './strategy'

/** One segment, untiled and kept: its forward is followed by its backward. */
export const wholeGraph = (graph: Graph): readonly Segment[] => [
  { from: 0, to: graph.nodes.length, grid: untiled, recompute: false, reorder: 'once' }
]

/** Everything kept, nothing tiled: the yardstick for memory and time (DESIGN §6). */
export const plain: Strategy = ({ lowering }) => [wholeGraph(lowering.graph)]
