import type { DeviceModel } from './devices/device-model'
import { inputError, type StagingError } from './error'
import type { Graph } from './graph/graph'
import type { Lowered } from './lowering'
import { refusedBytes } from './lowering/scope/workspace'

/** The smallest budget in bytes that a planner answers, and its plan for it. */
export interface LeastPlan {
  readonly budget: number
  readonly lowered: Lowered
}

const inWords = (bytes: number): string => `${Math.ceil(bytes)} bytes` + (bytes < 2 ** 20 ? '' : ` (${(bytes / 2 ** 20).toFixed(1)} MiB)`)

/**
 * Why no plan fits a budget of bytes, with the smallest that one fits, or the kernels that the
 * device refuses, for which no budget is enough. `planner` is what decides, in words.
 */
export const budgetError = (
  graph: Graph,
  { name }: DeviceModel,
  planner: string,
  budget: number,
  least: LeastPlan | undefined
): StagingError => {
  const where = `${graph.model} on ${graph.input.join('x')}`
  if (least !== undefined && least.budget >= refusedBytes)
    return inputError(
      `${where}: ${planner} runs convolutions whole that the ${name} device refuses as too large; take a strategy that tiles them.`
    )
  const needed =
    least === undefined
      ? `${planner} finds no way to run it`
      : `${planner} needs at least ${inWords(least.budget)}, where ${least.lowered.largestAtPeak()} is the largest tensor`
  return {
    code: 'budget',
    message: `${where} does not fit the budget of ${inWords(budget)}: ${needed}; raise --budget or take a smaller input.`,
    ...(least === undefined ? {} : { smallestFeasibleBudgetBytes: least.budget })
  }
}

/** Why no plan fits a budget of bytes on the host: the fewest are `needed`. */
export const hostBudgetError = (graph: Graph, planner: string, hostBudget: number, needed: number): StagingError => ({
  code: 'budget',
  message:
    `${graph.model} on ${graph.input.join('x')} does not fit the host budget of ${inWords(hostBudget)}: ` +
    `${planner} needs at least ${inWords(needed)} there; raise --host-budget or --budget.`
})
