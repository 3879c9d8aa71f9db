import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import type { Model } from '../dsl'
import { checkSegments } from './check-segments'
import { inputError, type StagingError } from './error'
import { buildGraph, graphHash, type Graph } from './graph'
import type { Objective, Optimizer, Source } from './lowering/context'
import { segmentEstimator } from './lowering/estimate'
import { lower, type Lowered, type Lowering } from './lowering/lower'
import { aligned } from './placement/first-fit'
import type { DeviceModel } from './device-model'
import type { MemoryPlan, Segment } from './plan'
import type { Program } from './program'
import { simulate } from './simulate'
import { strategies, type StrategyName } from './strategies'
import { plain } from './strategies/plain'
import type { Search } from './strategies/strategy'
import { segmentMultiplyAdds, segmentTiling, untiled } from './tiling'

export interface StageRequest {
  readonly model: Model
  /** [B, C, H, W]; overrides the model's own. */
  readonly input?: readonly number[]
  readonly device: DeviceModel
  readonly strategy: StrategyName
  /** Decisions to take as they are, in place of the strategy's. */
  readonly segments?: readonly Segment[]
  /** Bytes of device memory for everything that a step holds; no limit when absent. */
  readonly budget?: number
  readonly objective: Objective
  readonly source: Source
}

export interface Staged {
  readonly graph: Graph
  readonly plan: MemoryPlan
  readonly program: Program
}

interface Candidate extends Lowered {
  readonly segments: readonly Segment[]
}

/** How often a search is asked again, with less, because placement took more than was estimated. */
const attempts = 8

/** The strategy's best segmentation whose exact peak fits the budget. */
const firstFitting = (search: Search, strategy: StrategyName, budget: number, tried: Candidate[]): Candidate | undefined => {
  let target = budget
  for (let attempt = 0; attempt < attempts; attempt++) {
    let smallest = Infinity
    for (const segments of strategies[strategy](search, target)) {
      const candidate = { segments, ...lower(search.lowering, segments) }
      tried.push(candidate)
      if (candidate.program.peakBytes <= budget) return candidate
      smallest = Math.min(smallest, candidate.program.peakBytes)
    }
    if (!Number.isFinite(smallest) || !Number.isFinite(budget)) return undefined
    target -= Math.max(smallest - budget, budget / 256)
  }
  return undefined
}

/** The least memory that the strategy was seen to need: a bisection over budgets, each answer lowered exactly. */
const leanest = (search: Search, strategy: StrategyName, above: number): Candidate | undefined => {
  let [low, high] = [search.residentBytes, Math.max(above, search.residentBytes)]
  const planned = (budget: number): Candidate | undefined =>
    smallestOf(strategies[strategy](search, budget).map((segments) => ({ segments, ...lower(search.lowering, segments) })))
  let best = planned(high)
  for (let doubling = 0; best === undefined && doubling < 12; doubling++) {
    low = high
    high *= 2
    best = planned(high)
  }
  while (best !== undefined && high - low > high / 128) {
    const middle = (low + high) / 2
    const candidate = planned(middle)
    if (candidate === undefined) low = middle
    else {
      high = middle
      if (candidate.program.peakBytes < best.program.peakBytes) best = candidate
    }
  }
  return best
}

const haloOverhead = (graph: Graph, segments: readonly Segment[]): number => {
  const multiplyAdds = (grids: (segment: Segment) => Segment['grid']): number =>
    segments.reduce((sum, segment) => sum + segmentMultiplyAdds(graph, segment, segmentTiling(graph, segment, grids(segment))!), 0)
  const once = multiplyAdds(() => untiled)
  return once === 0 ? 0 : multiplyAdds(({ grid }) => grid) / once - 1
}

const megabytes = (bytes: number): string => `${Math.ceil(bytes)} bytes (${(bytes / 2 ** 20).toFixed(1)} MiB)`

const tooSmall = (graph: Graph, planner: string, budget: number, least: Candidate | undefined): StagingError => {
  const needs =
    least === undefined
      ? `${planner} finds no way to run it`
      : `${planner} needs at least ${megabytes(least.program.peakBytes)}, where ${least.largestAtPeak} is the largest tensor`
  const [batch, , height, width] = graph.input
  return {
    code: 'budget',
    message: `${graph.model} on ${batch}x${graph.input[1]}x${height}x${width} does not fit the budget of ${megabytes(budget)}: ${needs}; raise --budget or take a smaller input.`,
    ...(least === undefined ? {} : { smallestFeasibleBudgetBytes: least.program.peakBytes, layer: least.largestAtPeak })
  }
}

/** Dropout is off where gradients are asked for: they are of one function, not of a random one. */
const withoutDropout = (graph: Graph): Graph => ({
  ...graph,
  nodes: graph.nodes.map((node) => (node.op === 'dropout' ? { ...node, args: { rate: 0 } } : node))
})

/**
 * From a model, a device and a budget to a plan and its Program. The same request gives the same plan, byte for byte.
 * Fails with one sentence: a layer that refuses its input, or a budget that nothing fits, with the smallest that would do.
 */
export const stage = (request: StageRequest): E.Either<StagingError, Staged> =>
  pipe(
    request.input ?? request.model.input,
    E.fromNullable(inputError(`the model ${request.model.name} has no input size of its own; give one, as in --input 1x3x1024x1024.`)),
    E.chain((input) => buildGraph(request.model, input)),
    E.chain((graph) => stageGraph(request, request.objective.kind === 'gradients' ? withoutDropout(graph) : graph))
  )

/** The segmentation to run: given, or found by the strategy. */
const choose = (
  search: Search,
  { strategy, segments }: StageRequest,
  limit: number,
  plainPeakBytes: number
): E.Either<StagingError, Candidate> => {
  const { graph } = search.lowering
  const fits = (candidate: Candidate | undefined): E.Either<StagingError, Candidate> =>
    candidate !== undefined && candidate.program.peakBytes <= limit
      ? E.right(candidate)
      : E.left(tooSmall(graph, segments === undefined ? `strategy ${strategy}` : 'the given plan', limit, candidate))
  if (segments !== undefined)
    return pipe(
      checkSegments(graph, segments),
      E.chain((checked) => fits({ segments: checked, ...lower(search.lowering, checked) }))
    )
  const tried: Candidate[] = []
  const found = firstFitting(search, strategy, limit, tried)
  return fits(found ?? smallestOf([...tried, leanest(search, strategy, Math.min(limit, plainPeakBytes))]))
}

const smallestOf = (candidates: readonly (Candidate | undefined)[]): Candidate | undefined =>
  candidates.reduce(
    (smallest, one) =>
      one !== undefined && (smallest === undefined || one.program.peakBytes < smallest.program.peakBytes) ? one : smallest,
    undefined
  )

const stageGraph = (request: StageRequest, graph: Graph): E.Either<StagingError, Staged> => {
  const { device, strategy, budget, objective, source } = request
  const lowering: Lowering = { graph, device, objective, source }
  const yardstick = lower(lowering, plain({ lowering, residentBytes: 0, estimate: () => undefined }, Infinity)[0]!)
  const residentBytes = yardstick.program.residents.reduce((sum, { bytes }) => sum + aligned(bytes), 0)
  const search: Search = { lowering, residentBytes, estimate: segmentEstimator(lowering) }
  return pipe(
    choose(search, request, budget ?? Infinity, yardstick.program.peakBytes),
    E.map(({ program, segments }) => {
      const plan: MemoryPlan = {
        model: graph.model,
        graphHash: graphHash(graph),
        strategy,
        device: device.name,
        input: graph.input,
        budget: budget ?? null,
        segments,
        placement: { allocator: 'first-fit' },
        predicted: {
          peakDeviceBytes: program.peakBytes,
          peakHostBytes: 0,
          plainPeakBytes: yardstick.program.peakBytes,
          stepMilliseconds: simulate(program, device),
          lowerBoundMilliseconds: simulate(yardstick.program, device),
          haloOverhead: haloOverhead(graph, segments)
        }
      }
      return { graph, plan, program }
    })
  )
}

export type { Objective, Optimizer, Source }
