import type { PlanHostStay } from '../../dsl'
import type { Graph } from '../graph/graph'
import { inOrder, type Order } from '../graph/order'
import type { Residence } from './plan'

type InOrder = Pick<Graph, 'nodes'>

/** The moments of a step in words, in order: each layer forward as it runs, then backward from the last one on. */
const allMoments = ({ nodes }: InOrder): readonly string[] => [
  ...nodes.map(({ name }) => `forward ${name}`),
  ...nodes.map(({ name }) => `backward ${name}`).reverse()
]

/** The graph is in the order in which it runs. */
export const momentText = (graph: InOrder, moment: number): string => allMoments(graph)[moment]!

/** Stays on the host as plan files write them; the graph is as written. */
export const residenceTexts = (graph: Graph, order: Order, residence: Residence): readonly PlanHostStay[] => {
  const moments = allMoments(inOrder(graph, order))
  return residence.map(({ tensor, swapOut, freed, swapIn }) => {
    return { tensor, swapOut: moments[swapOut]!, freed: moments[freed]!, swapIn: moments[swapIn]! }
  })
}

/** The other way round, of names that are known to be right. */
export const residenceOfTexts = (graph: Graph, order: Order, residence: readonly PlanHostStay[]): Residence => {
  const moments = allMoments(inOrder(graph, order))
  return residence.map(({ tensor, swapOut, freed, swapIn }) => {
    return { tensor, swapOut: moments.indexOf(swapOut), freed: moments.indexOf(freed), swapIn: moments.indexOf(swapIn) }
  })
}
