import type { DeviceModel } from '../devices/device-model'
import type { Graph } from '../graph/graph'
import type { Timeline } from '../lowering/cost/timeline'
import { lazy } from '../memoize'
import { sourceOrder } from '../graph/order'
import type { Returns } from './least-transfers'
import { withSwapIntervals, type LazySwapSchedule } from './swap-intervals'
import { wholeGraph } from './plain'
import type { Strategy } from './strategy'

/**
 * A strategy that moves tensors of plain's one segment, untiled and kept, to the host, by each of
 * some schedules that is worth lowering.
 */
export const swappingWhole = (
  schedulesOf: (timeline: Timeline, graph: Graph, link: DeviceModel['linkBytesPerSecond']) => readonly LazySwapSchedule[],
  returns: Returns = 'once'
): Strategy => ({
  obeysDirectives: false,
  order: sourceOrder,
  kind: 'swapping',
  groups: (search) => {
    const { graph, device } = search
    const scheduled = lazy(() =>
      withSwapIntervals(search, wholeGraph(graph), (seen) => schedulesOf(seen, graph, device.linkBytesPerSecond), returns)
    )
    return [{ target: undefined, scheduled }]
  }
})
