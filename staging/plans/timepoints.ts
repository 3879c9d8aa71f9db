import type { PlanSwapInterval } from '../../dsl/internal'
import type { Graph } from '../graph/graph'
import { inOrder, type Order } from '../graph/order'
import type { SwapSchedule } from './plan'

type InOrder = Pick<Graph, 'nodes'>

/**
 * The timepoints of a step in words, in order: each layer forward as it runs, then backward from
 * the last one on.
 */
const timepointTexts = ({ nodes }: InOrder): readonly string[] => [
  ...nodes.map(({ name }) => `forward ${name}`),
  ...nodes.map(({ name }) => `backward ${name}`).reverse()
]

/** The graph is in the order in which it runs. */
export const timepointText = (graph: InOrder, timepoint: number): string => timepointTexts(graph)[timepoint]!

/** Stays on the host as plan files write them; the graph is as written. */
export const swapScheduleTexts = (graph: Graph, order: Order, swapSchedule: SwapSchedule): readonly PlanSwapInterval[] => {
  const timepoints = timepointTexts(inOrder(graph, order))
  return swapSchedule.map(({ tensor, swapOut, freed, swapIn }) => {
    return { tensor, swapOut: timepoints[swapOut]!, freed: timepoints[freed]!, swapIn: timepoints[swapIn]! }
  })
}

/** Parses the swap schedule of a plan file, of names that are known to be right. */
export const parseSwapSchedule = (graph: Graph, order: Order, swapSchedule: readonly PlanSwapInterval[]): SwapSchedule => {
  const timepoints = timepointTexts(inOrder(graph, order))
  return swapSchedule.map(({ tensor, swapOut, freed, swapIn }) => {
    return { tensor, swapOut: timepoints.indexOf(swapOut), freed: timepoints.indexOf(freed), swapIn: timepoints.indexOf(swapIn) }
  })
}
