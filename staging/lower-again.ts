import type { DeviceModel } from './devices/device-model'
import type { StepGraph } from './graph/step-graph'
import { lower, type Lowered } from './lowering'
import { memoize } from './memoize'
import type { Plan } from './plans/plan'

/** Lowers plans that were found again, with one decision more; each is remembered. */
export const lowerAgain = (
  graph: StepGraph,
  device: DeviceModel,
  decision: Pick<Plan, 'overlapReduction' | 'offloadOptimizer' | 'offloadWeights'>
): ((found: Lowered) => Lowered) =>
  memoize(
    ({ plan }: Lowered) => JSON.stringify(plan),
    ({ plan }) => lower(graph, { ...plan, ...decision }, device)
  )
