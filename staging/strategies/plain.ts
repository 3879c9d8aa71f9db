import { untiled } from '../tiling'
import type { Strategy } from './strategy'

/** Everything kept, nothing tiled: one segment, whose forward is followed by its backward. The yardstick (DESIGN §6). */
export const plain: Strategy = ({ lowering }) => [
  [{ from: 0, to: lowering.graph.nodes.length, grid: untiled, recompute: false, reorder: 'once' }]
]
