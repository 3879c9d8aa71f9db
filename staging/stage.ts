import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import type { PlanFigures } from '../dsl/internal'
import { decide, decideEach, decideGraph, type Decision } from './decide'
import type { StagingError } from './error'
import type { Graph } from './graph/graph'
import type { StepGraph } from './graph/step-graph'
import { segmentMultiplyAdds, segmentTiling } from './graph/tiling'
import { untiled } from './graph/span'
import type { Plan, Segment } from './plans/plan'
import type { Program } from './program/program'
import type { PlanRequest, StageRequest } from './request'

/** What is predicted of a plan: bytes, and milliseconds of a step. */
export interface PlanPrediction extends Required<PlanFigures> {
  /** Highest byte that a step touches in the device arena, plus one. */
  readonly peakDeviceBytes: number
}

/** A plan, with what it is for and what is predicted of it. */
export interface PredictedPlan {
  /**
   * The graph as the model has it: an evaluation changes what its ops are told, and gradients go
   * without randomness.
   */
  readonly sourceGraph: Graph
  /** The graph of the step, in the order in which the model has it. */
  readonly graph: StepGraph
  /** Name of the device. */
  readonly device: string
  readonly strategy: PlanRequest['strategy']
  /** Bytes; undefined when the plan was made without a limit. */
  readonly budget: number | undefined
  readonly plan: Plan
  readonly predicted: PlanPrediction
}

/** A predicted plan, and the Program that it is lowered to. */
export interface Staged extends PredictedPlan {
  readonly program: Program
}

const haloOverhead = (graph: Graph, segments: readonly Segment[]): number => {
  const multiplyAdds = (grids: (segment: Segment) => Segment['grid']): number =>
    segments.reduce((sum, segment) => sum + segmentMultiplyAdds(graph, segment, segmentTiling(graph, segment, grids(segment))!), 0)
  const once = multiplyAdds(() => untiled)
  return once === 0 ? 0 : multiplyAdds(({ grid }) => grid) / once - 1
}

/** What is predicted of the plan that a decision chose. */
export const predictPlan = (
  { strategy, device }: Pick<PlanRequest, 'strategy' | 'device'>,
  { sourceGraph, graph, plain, budget, chosen, leastMilliseconds }: Decision
): PredictedPlan => ({
  sourceGraph,
  graph,
  device: device.name,
  strategy,
  budget,
  plan: chosen.plan,
  predicted: {
    peakDeviceBytes: chosen.peakBytes(),
    peakHostBytes: chosen.hostBytes(),
    plainPeakBytes: plain.peakBytes(),
    stepMilliseconds: chosen.milliseconds(),
    lowerBoundMilliseconds: leastMilliseconds(),
    haloOverhead: haloOverhead(chosen.graph, chosen.plan.segments)
  }
})

/** A decision's plan and what is predicted of it, with its Program. */
export const stageDecision =
  (request: Pick<PlanRequest, 'strategy' | 'device'>) =>
  (decision: Decision): Staged => ({
    ...predictPlan(request, decision),
    program: decision.chosen.program()
  })

/**
 * From a model, a device and a budget to a plan and its Program. The same request gives the same
 * plan, byte for byte. Fails as `decide` does.
 */
export const stage = (request: StageRequest): E.Either<StagingError, Staged> => pipe(decide(request), E.map(stageDecision(request)))

/**
 * Stages a graph that `buildRequestGraph` has built, as `stage` does a model. Fails as
 * `decideGraph` does.
 */
export const stageGraph = (graph: Graph, request: PlanRequest): E.Either<StagingError, Staged> =>
  pipe(decideGraph(graph, request), E.map(stageDecision(request)))

/** One of the ways to stage a graph. */
export type StageChoice = (choice: Pick<PlanRequest, 'strategy' | 'budget'>) => E.Either<StagingError, Staged>

/**
 * A graph on a device, staged by one strategy and budget after the other, each as `stageGraph`
 * would: what all of them ask is found out once.
 */
export const stageEach = (graph: Graph, request: Omit<PlanRequest, 'strategy' | 'budget' | 'given'>): StageChoice => {
  const decideBy = decideEach(graph, request)
  return (choice) => pipe(decideBy(choice), E.map(stageDecision({ ...choice, device: request.device })))
}
