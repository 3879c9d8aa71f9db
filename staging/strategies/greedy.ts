import { asWritten } from '../order'
import { noWait, occupancy, residenceOf, worthLowering } from './host-stays'
import { wholeGraph } from './plain'
import type { Strategy } from './strategy'
import { withWinogradVariants } from './winograd'

/**
 * GREEDY (Beaumont et al. 2020, paper 004, section 4.2): the no-wait, ordered schedule that offloads the first k activations, for the
 * smallest k that brings the peak down to the memory at hand. Here for every k, each with the memory that it is the answer to.
 */
export const greedy: Strategy = {
  obeysMarks: false,
  order: asWritten,
  kind: 'swapping',
  all: ({ lowering: { graph, device }, winograd, timeline }) =>
    withWinogradVariants(winograd, wholeGraph(graph)).flatMap((segments) => {
      const seen = timeline(segments)
      const peak = Math.max(...occupancy(seen, []))
      let offloaded = 0
      const schedules = seen.tensors.map(({ bytes }, index) => {
        offloaded += bytes
        return noWait(seen, seen.tensors.slice(0, index + 1), peak - offloaded)
      })
      return worthLowering(seen, device.linkBytesPerSecond, [[], ...schedules]).map((stays) => ({
        segments,
        residence: residenceOf(seen, stays)
      }))
    })
}
