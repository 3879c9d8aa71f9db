import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import type { Model } from '../dsl'
import { withExactKernels, withFastestFirst } from './devices/algorithms'
import { checkPlanOverride, checkInputs, checkTiles, residenceMistake, winogradMistake, type PlanOverride } from './plans/check-plan'
import { refusedBytes, type DeviceModel } from './devices/device-model'
import { inputError, type StagingError } from './error'
import { buildGraph, forEvaluation } from './graph/build-graph'
import { graphHash, withoutDropout, type Graph } from './graph/graph'
import type { Kernel } from './kernels/kernels'
import type { Source } from './lowering/scope/scope'
import type { Lowering } from './lowering/segment/create-scope'
import { checkObjective, type Objective } from './graph/objective'
import { staticPlacement, untiled, type MemoryPlan, type PlacementChoice, type Segment } from './plans/plan'
import { asWritten, inOrder } from './graph/order'
import type { Program } from './program/program'
import { candidateOf, lowerBound, createPlanSearch, type PlanSearch, type Candidate } from './search'
import type { StrategyName } from './strategies'
import { wholeGraph } from './strategies/plain'
import { gridMade, segmentMultiplyAdds, segmentTiling } from './graph/tiling'

export interface StageRequest {
  readonly model: Model
  /** [B, C, H, W]; overrides the model's own. */
  readonly input?: readonly number[]
  readonly device: DeviceModel
  readonly strategy: StrategyName
  /** Decisions to take as they are, in place of the strategy's. */
  readonly given?: PlanOverride
  /** Bytes of device memory for everything that a step holds; no limit when absent. */
  readonly budget?: number
  /** Bytes of the host pool, through which tensors are swapped; `auto` swaps only where it is given. No limit when absent. */
  readonly hostBudget?: number
  readonly objective: Objective
  readonly source: Source
  /** Refuses kernels that round differently: nothing runs by Winograd or by Fourier transforms. */
  readonly exactKernels?: true
  /** How the buffers of a step get their places; `static` where absent. */
  readonly placement?: PlacementChoice
}

/** What chooses a graph and how it is lowered. */
type LoweringRequest = Pick<StageRequest, 'model' | 'input' | 'device' | 'objective' | 'source' | 'exactKernels' | 'given' | 'placement'>

export interface Staged {
  /** The graph as the model has it: an evaluation changes what its ops are told, and gradients go without dropout. */
  readonly written: Graph
  readonly graph: Graph
  readonly plan: MemoryPlan
  readonly program: Program
}

const haloOverhead = (graph: Graph, segments: readonly Segment[]): number => {
  const multiplyAdds = (grids: (segment: Segment) => Segment['grid']): number =>
    segments.reduce((sum, segment) => sum + segmentMultiplyAdds(graph, segment, segmentTiling(graph, segment, grids(segment))!), 0)
  const once = multiplyAdds(() => untiled)
  return once === 0 ? 0 : multiplyAdds(({ grid }) => grid) / once - 1
}

const inWords = (bytes: number): string => `${Math.ceil(bytes)} bytes` + (bytes < 2 ** 20 ? '' : ` (${(bytes / 2 ** 20).toFixed(1)} MiB)`)

/** No budget is enough for kernels that the device refuses. */
const refused = (graph: Graph, planner: string, { name }: DeviceModel): StagingError =>
  inputError(
    `${graph.model} on ${graph.input.join('x')}: ${planner} runs convolutions whole that the ${name} device refuses as too large; take a strategy that tiles them.`
  )

const tooSmall = (graph: Graph, planner: string, budget: number, least: ReturnType<PlanSearch['least']>): StagingError => ({
  code: 'budget',
  message:
    `${graph.model} on ${graph.input.join('x')} does not fit the budget of ${inWords(budget)}: ` +
    (least === undefined
      ? `${planner} finds no way to run it`
      : `${planner} needs at least ${inWords(least.budget)}, where ${least.candidate.largestAtPeak()} is the largest tensor`) +
    '; raise --budget or take a smaller input.',
  ...(least === undefined ? {} : { smallestFeasibleBudgetBytes: least.budget })
})

const hostTooSmall = (graph: Graph, planner: string, hostBudget: number, needed: number): StagingError => ({
  code: 'budget',
  message:
    `${graph.model} on ${graph.input.join('x')} does not fit the host budget of ${inWords(hostBudget)}: ` +
    `${planner} needs at least ${inWords(needed)} there; raise --host-budget or --budget.`
})

/** What a request leads to: the decisions, and what else could have been decided. */
export interface Decided {
  /** The graph as written, dropout included. */
  readonly written: Graph
  readonly lowering: Lowering
  readonly plain: Candidate
  readonly chosen: Candidate
  /** Absent where the decisions were given. */
  readonly answers: PlanSearch | undefined
}

const loweringOf = ({ device, objective, source, exactKernels, given, placement }: LoweringRequest, written: Graph): Lowering => ({
  // Gradients are of one function, not of a random one.
  graph: objective.kind === 'gradients' ? withoutDropout(written) : objective.kind === 'evaluate' ? forEvaluation(written) : written,
  device: withFastestFirst(exactKernels ? withExactKernels(device) : device),
  objective,
  source,
  placement: given?.placement ?? placement ?? staticPlacement
})

/** The yardstick is there even where the device refuses kernels of the whole image. */
const plainOf = (lowering: Lowering): Candidate => {
  const scratchBytes = (kernel: Kernel): number => lowering.device.scratchBytes(kernel) % refusedBytes
  return candidateOf(
    { ...lowering, device: { ...lowering.device, scratchBytes }, placement: staticPlacement },
    asWritten(lowering.graph),
    wholeGraph(lowering.graph)
  )
}

const decideGraph = (request: StageRequest, written: Graph): E.Either<StagingError, Decided> => {
  const { strategy, given, budget = refusedBytes - 1, hostBudget, exactKernels } = request
  const lowering = loweringOf(request, written)
  const { graph } = lowering
  const plain = plainOf(lowering)
  const misfit = (planner: string, least: ReturnType<PlanSearch['least']>): StagingError =>
    least === undefined || least.budget < refusedBytes ? tooSmall(graph, planner, budget, least) : refused(graph, planner, lowering.device)
  const decided = (chosen: Candidate, answers?: PlanSearch): Decided => ({ written, lowering, plain, chosen, answers })
  if (given !== undefined) {
    const mistake = winogradMistake({ ...lowering, graph: inOrder(graph, given.order) }, given.segments, exactKernels)
    if (mistake !== undefined) return E.left(mistake)
    const unfit = residenceMistake({ ...lowering, graph: inOrder(graph, given.order) }, given)
    if (unfit !== undefined) return E.left(unfit)
    const running = inOrder(graph, given.order)
    const segments = given.segments.map((segment) => ({ ...segment, grid: gridMade(running, segment, segment.grid) }))
    const candidate = candidateOf(lowering, given.order, segments, given.residence)
    if (candidate.hostBytes() > (hostBudget ?? Infinity))
      return E.left(hostTooSmall(graph, 'the given plan', hostBudget!, candidate.hostBytes()))
    return candidate.peakBytes() <= budget
      ? E.right(decided(candidate))
      : E.left(misfit('the given plan', { budget: candidate.peakBytes(), candidate }))
  }
  const answers = createPlanSearch(lowering, strategy, plain, hostBudget)
  const chosen = answers.within(budget)
  if (chosen !== undefined) return E.right(decided(chosen, answers))
  const planner = `strategy ${strategy}`
  const needed = hostBudget === undefined ? undefined : answers.leastHost(budget)
  return E.left(needed === undefined ? misfit(planner, answers.least()) : hostTooSmall(graph, planner, hostBudget!, needed))
}

/** The model's graph for its objective. Fails as `loweringFor` does. */
export const graphOf = ({ model, input, objective }: Pick<StageRequest, 'model' | 'input' | 'objective'>): E.Either<StagingError, Graph> =>
  pipe(
    input ?? model.input,
    E.fromNullable(inputError(`the model ${model.name} has no input size of its own; give one, as in --input 1x3x1024x1024.`)),
    E.chain((extents) => buildGraph(model, extents)),
    E.chain((graph) => checkTiles(graph, objective)),
    E.chain(checkInputs),
    E.chain((graph) => checkObjective(graph, objective))
  )

/** The model as written, ready to be lowered. Fails for a layer that refuses its input. */
export const loweringFor = (request: LoweringRequest): E.Either<StagingError, Lowering> =>
  pipe(
    graphOf(request),
    E.map((graph) => loweringOf(request, graph))
  )

/** The yardstick for fractions of memory (DESIGN §6): bytes with everything kept and direct kernels. Fails as `loweringFor` does. */
export const plainPeakBytes = (request: StageRequest): E.Either<StagingError, number> =>
  pipe(
    loweringFor(request),
    E.map((lowering) => plainOf(lowering).peakBytes())
  )

/** Fails with one sentence: a layer that refuses its input, or a budget that nothing fits, with the smallest that would do. */
export const decide = (request: StageRequest): E.Either<StagingError, Decided> =>
  pipe(
    graphOf(request),
    E.chainFirst((graph) => (request.given === undefined ? E.right(undefined) : checkPlanOverride(graph, request.given))),
    E.chain((graph) => decideGraph(request, graph))
  )

export const planOf = ({ strategy, given, device, budget }: StageRequest, { written, lowering, plain, chosen }: Decided): MemoryPlan => {
  const { graph } = lowering
  return {
    model: graph.model,
    graphHash: graphHash(written),
    strategy: given?.strategy ?? strategy,
    device: device.name,
    input: graph.input,
    budget: budget ?? null,
    order: chosen.order,
    segments: chosen.segments,
    residence: chosen.residence,
    placement: lowering.placement ?? staticPlacement,
    predicted: {
      peakDeviceBytes: chosen.peakBytes(),
      peakHostBytes: chosen.hostBytes(),
      plainPeakBytes: plain.peakBytes(),
      stepMilliseconds: chosen.milliseconds(),
      lowerBoundMilliseconds: lowerBound(lowering),
      haloOverhead: haloOverhead(chosen.graph, chosen.segments)
    }
  }
}

/**
 * From a model, a device and a budget to a plan and its Program. The same request gives the same plan, byte for byte.
 * Fails as `decide` does.
 */
export const stage = (request: StageRequest): E.Either<StagingError, Staged> =>
  pipe(
    decide(request),
    E.map((decided) => ({
      written: decided.written,
      graph: decided.lowering.graph,
      plan: planOf(request, decided),
      program: decided.chosen.program()
    }))
  )
