import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import type { Model } from '../dsl'
import { withExactKernels, withFastestFirst } from './devices/algorithms'
import { checkPlanOverride, checkInputs, checkTiles, validateSwapSchedule, validateWinograd, type PlanOverride } from './check-plan'
import type { DeviceModel } from './devices/device-model'
import { refusedBytes, unlimitedBytes } from './lowering/scope/workspace'
import { inputError, type StagingError } from './error'
import { buildGraph, forEvaluation, withoutRandomness } from './ops/build-graph'
import type { Graph } from './graph/graph'
import { graphHash } from './ops/graph-hash'
import type { Kernel } from './kernels/kernels'
import type { Source } from './lowering/scope/scope'
import type { Lowering } from './lowering/segment/create-scope'
import { checkObjective, type Objective } from './graph/objective'
import { createPlan, staticPlacement, type MemoryPlan, type PlacementChoice, type Segment } from './plans/plan'
import { untiled } from './graph/span'
import { sourceOrder, inOrder } from './graph/order'
import type { Program } from './program/program'
import { createCandidate, createPlanSearches, type PlanSearch, type PlanSearches, type Candidate } from './search'
import type { StrategyName } from './strategies'
import { wholeGraph } from './strategies/plain'
import { effectiveGrid, segmentMultiplyAdds, segmentTiling } from './graph/tiling'

/** Bytes, or a fraction of the peak of strategy plain: everything kept, and direct kernels. */
export type Budget = { readonly bytes: number } | { readonly fractionOfPlain: number }

export interface StageRequest {
  readonly model: Model
  /** [B, C, H, W]; overrides the model's own. */
  readonly input?: readonly number[]
  readonly device: DeviceModel
  readonly strategy: StrategyName
  /** Decisions to take as they are, in place of the strategy's. */
  readonly given?: PlanOverride
  /** Device memory for everything that a step holds; no limit when absent. */
  readonly budget?: Budget
  /**
   * The host pool, through which tensors are swapped; `auto` swaps only where it is given. No limit
   * when absent.
   */
  readonly hostBudget?: Budget
  /** A device's memory in bytes, which no budget may exceed; what it is called in a sentence. */
  readonly memory?: { readonly name: string; readonly bytes: number }
  readonly objective: Objective
  readonly source: Source
  /** Refuses kernels that round differently: nothing runs by Winograd or by Fourier transforms. */
  readonly exactKernels?: true
  /** How the buffers of a step get their places; `static` where absent. */
  readonly placement?: PlacementChoice
}

/** What chooses a graph and how it is lowered. */
type LoweringRequest = Pick<StageRequest, 'model' | 'input' | 'device' | 'objective' | 'source' | 'exactKernels'>

export interface Staged {
  /**
   * The graph as the model has it: an evaluation changes what its ops are told, and gradients go
   * without dropout.
   */
  readonly sourceGraph: Graph
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
  /** The graph as sourceGraph, dropout included. */
  readonly sourceGraph: Graph
  readonly lowering: Lowering
  readonly plain: Candidate
  readonly chosen: Candidate
  /** Bytes; undefined where there is no limit. */
  readonly budget: number | undefined
  /** Absent where the plan was given. */
  readonly answers: PlanSearch | undefined
  /** No plan takes less. */
  readonly leastMilliseconds: () => number
}

const createLowering = ({ device, objective, source, exactKernels }: LoweringRequest, sourceGraph: Graph): Lowering => ({
  // Gradients are of one function, not of a random one.
  graph:
    objective.kind === 'gradients' ? withoutRandomness(sourceGraph) : objective.kind === 'evaluate' ? forEvaluation(sourceGraph) : sourceGraph,
  device: withFastestFirst(exactKernels ? withExactKernels(device) : device),
  objective,
  source
})

/** The yardstick is there even where the device refuses kernels of the whole image. */
const createPlainCandidate = (lowering: Lowering): Candidate => {
  const scratchBytes = (kernel: Kernel): number => lowering.device.scratchBytes(kernel) ?? 0
  return createCandidate(
    { ...lowering, device: { ...lowering.device, scratchBytes } },
    createPlan(sourceOrder(lowering.graph), wholeGraph(lowering.graph))
  )
}

/** Beyond the largest whole number no number is exact, and no machine has it. */
const budgetBytes = (budget: Budget, plain: Candidate): number =>
  'bytes' in budget ? budget.bytes : Math.min(Math.floor(plain.peakBytes() * budget.fractionOfPlain), Number.MAX_SAFE_INTEGER)

/** A request's graph, ready to be lowered, and what strategies answer for it. */
interface Ready {
  readonly sourceGraph: Graph
  readonly lowering: Lowering
  readonly plain: Candidate
  /** Bytes. */
  readonly hostBudget: number | undefined
  readonly searches: PlanSearches
}

const readyFor = (request: Omit<StageRequest, 'strategy' | 'budget'>, sourceGraph: Graph): Ready => {
  const lowering = createLowering(request, sourceGraph)
  const plain = createPlainCandidate(lowering)
  const hostBudget = request.hostBudget && budgetBytes(request.hostBudget, plain)
  return { sourceGraph, lowering, plain, hostBudget, searches: createPlanSearches(lowering, plain, hostBudget, request.placement) }
}

/** What a request is decided within, in bytes, and beside what. */
interface Limits extends Ready {
  readonly budget: number | undefined
}

const resolveLimits = (
  { budget: asked, memory }: Pick<StageRequest, 'budget' | 'memory'>,
  ready: Ready
): E.Either<StagingError, Limits> => {
  const budget = asked && budgetBytes(asked, ready.plain)
  return budget !== undefined && memory !== undefined && budget > memory.bytes
    ? E.left(inputError(`the budget of ${budget} bytes is more than the ${memory.bytes} that ${memory.name} has; lower --budget.`))
    : E.right({ ...ready, budget })
}

const misfit = (
  { lowering: { graph, device }, budget = unlimitedBytes }: Limits,
  planner: string,
  least: ReturnType<PlanSearch['least']>
): StagingError =>
  least === undefined || least.budget < refusedBytes ? tooSmall(graph, planner, budget, least) : refused(graph, planner, device)

/**
 * A plan that was given, lowered: its tiles as they can be made. Fails where it cannot run, or does
 * not fit.
 */
const decideGiven = (
  { exactKernels, placement = staticPlacement }: StageRequest,
  limits: Limits,
  given: PlanOverride
): E.Either<StagingError, Candidate> => {
  const { lowering, budget = unlimitedBytes, hostBudget = Infinity } = limits
  const running = inOrder(lowering.graph, given.order)
  const mistake = validateWinograd({ ...lowering, graph: running }, given.segments, exactKernels)
  if (mistake !== undefined) return E.left(mistake)
  const unfit = validateSwapSchedule({ ...lowering, graph: running }, given)
  if (unfit !== undefined) return E.left(unfit)
  const segments = given.segments.map((segment) => ({ ...segment, grid: effectiveGrid(running, segment, segment.grid) }))
  const candidate = createCandidate(
    lowering,
    createPlan(given.order, segments, { swapSchedule: given.swapSchedule ?? [], placement: given.placement ?? placement })
  )
  if (candidate.hostBytes() > hostBudget) return E.left(hostTooSmall(lowering.graph, 'the given plan', hostBudget, candidate.hostBytes()))
  return candidate.peakBytes() <= budget
    ? E.right(candidate)
    : E.left(misfit(limits, 'the given plan', { budget: candidate.peakBytes(), candidate }))
}

const decideReady = (request: StageRequest, ready: Ready): E.Either<StagingError, Decided> => {
  const { strategy, given } = request
  const { sourceGraph, lowering, plain, hostBudget, searches } = ready
  return pipe(
    resolveLimits(request, ready),
    E.chain((limits): E.Either<StagingError, Decided> => {
      const { budget } = limits
      const { leastMilliseconds } = searches
      const decided = (chosen: Candidate, answers?: PlanSearch): Decided => ({
        ...{ sourceGraph, lowering, plain, budget, chosen, answers, leastMilliseconds }
      })
      if (given !== undefined) return E.map((chosen: Candidate) => decided(chosen))(decideGiven(request, limits, given))
      const answers = searches.by(strategy)
      const chosen = answers.within(budget ?? unlimitedBytes)
      if (chosen !== undefined) return E.right(decided(chosen, answers))
      const planner = `strategy ${strategy}`
      const needed = hostBudget === undefined ? undefined : answers.leastHost(budget ?? unlimitedBytes)
      return E.left(
        needed === undefined ? misfit(limits, planner, answers.least()) : hostTooSmall(lowering.graph, planner, hostBudget!, needed)
      )
    })
  )
}

/** The model's graph for its objective. Fails as `loweringFor` does. */
export const buildRequestGraph = ({
  model,
  input,
  objective
}: Pick<StageRequest, 'model' | 'input' | 'objective'>): E.Either<StagingError, Graph> =>
  pipe(
    input ?? model.input,
    E.fromNullable(inputError(`the model ${model.name} has no input size of its own; give one, as in --input 1x3x1024x1024.`)),
    E.chain((extents) => buildGraph(model, extents)),
    E.chain((graph) => checkTiles(graph, objective)),
    E.chain(checkInputs),
    E.chain((graph) => checkObjective(graph, objective))
  )

/** The model as sourceGraph, ready to be lowered. Fails for a layer that refuses its input. */
export const loweringFor = (request: LoweringRequest): E.Either<StagingError, Lowering> =>
  pipe(
    buildRequestGraph(request),
    E.map((graph) => createLowering(request, graph))
  )

/**
 * Fails with one sentence: a layer that refuses its input, or a budget that nothing fits, with the
 * smallest that would do.
 */
export const decide = (request: StageRequest): E.Either<StagingError, Decided> =>
  pipe(
    buildRequestGraph(request),
    E.chainFirst((graph) => (request.given === undefined ? E.right(undefined) : checkPlanOverride(graph, request.given))),
    E.chain((graph) => decideReady(request, readyFor(request, graph)))
  )

export const planOf = (
  { strategy, given, device }: StageRequest,
  { sourceGraph, lowering, plain, budget, chosen, leastMilliseconds }: Decided
): MemoryPlan => {
  const { graph } = lowering
  return {
    model: graph.model,
    graphHash: graphHash(sourceGraph),
    strategy: given?.strategy ?? strategy,
    device: device.name,
    input: graph.input,
    budget: budget ?? null,
    order: chosen.order,
    segments: chosen.segments,
    swapSchedule: chosen.swapSchedule,
    placement: chosen.placement,
    predicted: {
      peakDeviceBytes: chosen.peakBytes(),
      peakHostBytes: chosen.hostBytes(),
      plainPeakBytes: plain.peakBytes(),
      stepMilliseconds: chosen.milliseconds(),
      lowerBoundMilliseconds: leastMilliseconds(),
      haloOverhead: haloOverhead(chosen.graph, chosen.segments)
    }
  }
}

const stagedOf = (request: StageRequest, decided: Decided): Staged => ({
  sourceGraph: decided.sourceGraph,
  graph: decided.lowering.graph,
  plan: planOf(request, decided),
  program: decided.chosen.program()
})

/**
 * From a model, a device and a budget to a plan and its Program. The same request gives the same
 * plan, byte for byte. Fails as `decide` does.
 */
export const stage = (request: StageRequest): E.Either<StagingError, Staged> =>
  pipe(
    decide(request),
    E.map((decided) => stagedOf(request, decided))
  )

/** One of the ways to stage a model. */
export type StageChoice = (choice: Pick<StageRequest, 'strategy' | 'budget'>) => E.Either<StagingError, Staged>

/**
 * A model on a device, staged by one strategy and budget after the other, each as `stage` would:
 * what all of them ask is found out once.
 */
export const stageEach = (request: Omit<StageRequest, 'strategy' | 'budget' | 'given'>): E.Either<StagingError, StageChoice> =>
  pipe(
    buildRequestGraph(request),
    E.map((graph) => {
      const ready = readyFor(request, graph)
      return ({ strategy, budget }) => {
        const one: StageRequest = { ...request, strategy, ...(budget && { budget }) }
        return pipe(
          decideReady(one, ready),
          E.map((decided) => stagedOf(one, decided))
        )
      }
    })
  )
