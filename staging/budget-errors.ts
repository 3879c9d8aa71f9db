import type { DeviceModel } from './devices/device-model'
import { inputError, type StagingError } from './error'
import type { Graph } from './graph/graph'
import type { Lowered } from './lowering'
import type { DeviceMemory } from './request'

/** The smallest budget in bytes that a planner is found to answer, and its plan for it. */
export interface LeastPlan {
  readonly budget: number
  readonly lowered: Lowered
}

const inWords = (bytes: number): string => `${Math.ceil(bytes)} bytes` + (bytes < 2 ** 20 ? '' : ` (${(bytes / 2 ** 20).toFixed(1)} MiB)`)

const onInput = ({ model, input }: Graph): string => `${model} on ${input.join('x')}`

/** Why nothing runs, whatever the budget. `planner` is what decides, in words. */
export const makeRefusalError = (graph: Graph, { name }: DeviceModel, planner: string): StagingError =>
  inputError(
    `${onInput(graph)}: ${planner} runs convolutions whole that the ${name} device refuses as too large; take a strategy that tiles them.`
  )

/** What a plan must fit: bytes, of the memory of a device where that is known. */
export interface DeviceLimit {
  readonly budget: number
  readonly memory?: DeviceMemory | undefined
}

/**
 * What is not fitted, and what to do: a budget beyond the device's memory is refused, so none such
 * is advised.
 */
const limitInWords = ({ budget, memory }: DeviceLimit, needed: number): readonly [limit: string, remedy: string] => {
  const otherwise = '; take a smaller input or a device with more memory'
  if (memory?.bytes === budget) return [`the ${inWords(budget)} that ${memory.name} has`, otherwise]
  const asked = `the budget of ${inWords(budget)}`
  return memory === undefined || needed <= memory.bytes
    ? [asked, '; raise --budget or take a smaller input']
    : [asked, `, and ${memory.name} has ${inWords(memory.bytes)}${otherwise}`]
}

/** Says why no plan fits a device's limit, and the smallest for which one was found, if any. */
export const budgetError = (graph: Graph, planner: string, within: DeviceLimit, least: LeastPlan | undefined): StagingError => {
  const needed =
    least === undefined
      ? `${planner} finds no way to run it`
      : `${planner} needs at least ${inWords(least.budget)}, where ${least.lowered.largestAtPeak()} is the largest tensor`
  const [limit, remedy] = limitInWords(within, least?.budget ?? 0)
  return {
    code: 'budget',
    message: `${onInput(graph)} does not fit ${limit}: ${needed}${remedy}.`,
    ...(least === undefined ? {} : { smallestFeasibleBudgetBytes: least.budget })
  }
}

/** Why no plan fits a budget of bytes on the host: the fewest are `needed`. */
export const hostBudgetError = (graph: Graph, planner: string, hostBudget: number, needed: number): StagingError => ({
  code: 'budget',
  message:
    `${onInput(graph)} does not fit the host budget of ${inWords(hostBudget)}: ` +
    `${planner} needs at least ${inWords(needed)} there; raise --host-budget or --budget.`
})
