import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import { budgetError, hostBudgetError, makeRefusalError } from './budget-errors'
import { planningDevice } from './devices/algorithms'
import type { DeviceModel } from './devices/device-model'
import { inputError, ofPlan, type StagingError } from './error'
import { createStepGraph, withShard } from './ops/build-graph'
import type { Graph } from './graph/graph'
import { inOrder, sourceOrder } from './graph/order'
import type { StepGraph } from './graph/step-graph'
import { effectiveGrid } from './graph/grid'
import type { Kernel } from './kernels/kernels'
import { lower, type Lowered } from './lowering'
import { unlimitedBytes } from './lowering/scope/workspace'
import { checkGraphPlan, validateOffloading, validateSwapSchedule, validateConvolutions } from './check-plan'
import type { Plan } from './plans/plan'
import { buildRequestGraph, type Budget, type DeviceMemory, type PlanRequest, type StageRequest } from './request'
import { createPlanSearches, type PlanSearch, type PlanSearches } from './search'
import { strategies } from './strategies'
import { wholeGraph } from './strategies/plain'

/** What a request leads to: the plan that is chosen, lowered, and what else could have been. */
export interface Decision {
  /** The graph as the model has it, dropout included. */
  readonly sourceGraph: Graph
  /** The graph of the step, in the order in which the model has it. */
  readonly graph: StepGraph
  readonly device: DeviceModel
  /** Strategy plain with direct kernels: the yardstick for fractions of memory. */
  readonly plain: Lowered
  readonly chosen: Lowered
  /** Bytes; undefined where there is no limit. */
  readonly budget: number | undefined
  /** What the strategy answers to other budgets; absent where the plan was given. */
  readonly search: PlanSearch | undefined
  /** Milliseconds of a step that no plan undercuts. */
  readonly leastMilliseconds: () => number
}

/** A request's graph, ready to be planned for, and what strategies answer for it. */
interface Prepared extends Pick<Decision, 'sourceGraph' | 'graph' | 'device' | 'plain'> {
  /** Bytes. */
  readonly hostBudget: number | undefined
  readonly searches: PlanSearches
}

/** What a plan is chosen within, in bytes, and beside what. */
interface Limited extends Prepared {
  readonly budget: number | undefined
  readonly memory: DeviceMemory | undefined
}

/** The yardstick is there even where the device refuses kernels of the whole image. */
const lowerPlain = (graph: StepGraph, device: DeviceModel): Lowered => {
  const scratchBytes = (kernel: Kernel): number => device.scratchBytes(kernel) ?? 0
  return lower(graph, { order: sourceOrder(graph), segments: wholeGraph(graph) }, { ...device, scratchBytes })
}

/** Bytes that a graph's step needs by strategy plain with direct kernels. */
export const plainPeakBytes = (graph: Graph, request: Omit<PlanRequest, 'strategy'>): number =>
  lowerPlain(createStepGraph(graph, request.objective, request.source), planningDevice(request.device, request.exactKernels)).peakBytes()

/**
 * A part of what plain needs, in bytes. Beyond the largest whole number no number is exact, and no
 * machine has it.
 */
export const bytesOfPlain = (fraction: number, plainBytes: number): number =>
  Math.min(Math.floor(plainBytes * fraction), Number.MAX_SAFE_INTEGER)

const budgetBytes = (budget: Budget, plain: Lowered): number =>
  'bytes' in budget ? budget.bytes : bytesOfPlain(budget.fractionOfPlain, plain.peakBytes())

const prepare = (sourceGraph: Graph, request: Omit<PlanRequest, 'strategy'>): Prepared => {
  const graph = createStepGraph(sourceGraph, request.objective, request.source)
  const device = planningDevice(request.device, request.exactKernels)
  const plain = lowerPlain(graph, device)
  const hostBudget = request.hostBudget && budgetBytes(request.hostBudget, plain)
  return {
    sourceGraph,
    graph,
    device,
    plain,
    hostBudget,
    searches: createPlanSearches(graph, device, plain, hostBudget, request.placement, request.onSearch)
  }
}

const withLimits = ({ budget: asked, memory }: PlanRequest, prepared: Prepared): E.Either<StagingError, Limited> => {
  const budget = asked && budgetBytes(asked, prepared.plain)
  return budget !== undefined && memory !== undefined && budget > memory.bytes
    ? E.left(inputError(`the budget of ${budget} bytes is more than the ${memory.bytes} that ${memory.name} has; lower --budget.`))
    : E.right({ ...prepared, budget, memory })
}

/**
 * A given plan, lowered: its tiles as they can be made. Fails where it cannot run or does not fit.
 */
const chooseGiven = (
  given: Plan,
  exactKernels: true | undefined,
  { graph, device, budget = unlimitedBytes, memory, hostBudget = Infinity }: Limited
): E.Either<StagingError, Lowered> => {
  const running = inOrder(graph, given.order)
  const mistake =
    validateConvolutions(running, given, device, exactKernels) ??
    validateSwapSchedule(running, given, device) ??
    validateOffloading(running, given)
  if (mistake !== undefined) return E.left(ofPlan(mistake))
  const segments = given.segments.map((segment) => ({ ...segment, grid: effectiveGrid(running, segment, segment.grid) }))
  const lowered = lower(graph, { ...given, segments }, device)
  if (lowered.hostBytes() > hostBudget) return E.left(hostBudgetError(graph, 'the given plan', hostBudget, lowered.hostBytes()))
  if (lowered.refusedKernel() !== undefined) return E.left(makeRefusalError(graph, device, 'the given plan'))
  return lowered.peakBytes() <= budget
    ? E.right(lowered)
    : E.left(budgetError(graph, 'the given plan', { budget, memory }, { budget: lowered.peakBytes(), lowered }))
}

/** The fastest plan of a strategy's. */
const chooseBest = (
  search: PlanSearch,
  planner: string,
  { graph, device, budget = unlimitedBytes, memory, hostBudget }: Limited
): E.Either<StagingError, Lowered> => {
  const chosen = search.within(budget)
  if (chosen !== undefined) return E.right(chosen)
  const needed = hostBudget === undefined ? undefined : search.leastHost(budget)
  if (needed !== undefined) return E.left(hostBudgetError(graph, planner, hostBudget!, needed))
  const least = search.least()
  // What is heuristic may find for some budget only on the way to the least.
  if (least !== undefined && least.budget <= budget) return E.right(least.lowered)
  // With so little on the host no budget of the device is enough.
  const neededAtAll = hostBudget === undefined || least !== undefined ? undefined : search.leastHost(unlimitedBytes)
  if (neededAtAll !== undefined) return E.left(hostBudgetError(graph, planner, hostBudget!, neededAtAll))
  return E.left(
    least === undefined && search.refusedKernel() !== undefined
      ? makeRefusalError(graph, device, planner)
      : budgetError(graph, planner, { budget, memory }, least)
  )
}

const decidePrepared = (request: PlanRequest, prepared: Prepared): E.Either<StagingError, Decision> =>
  pipe(
    withLimits(request, prepared),
    E.chain((limited) => {
      const { strategy, given, exactKernels } = request
      const { sourceGraph, graph, device, plain, budget, searches } = limited
      const { leastMilliseconds } = searches
      const decision = (search: PlanSearch | undefined) => (chosen: Lowered) => ({
        ...{ sourceGraph, graph, device, plain, chosen, budget, search, leastMilliseconds }
      })
      if (given !== undefined) return E.map(decision(undefined))(chooseGiven(given, exactKernels, limited))
      if (strategy === 'by hand') return E.left(inputError('what is planned by hand must be given as a plan; name a strategy.'))
      const search = searches.by(strategy)
      const obeys = graph.directives.length > 0 && (strategy === 'auto' || strategies[strategy].obeysDirectives)
      const planner = `strategy ${strategy}${obeys ? ", as the model's checkpoint and tile say," : ''}`
      return E.map(decision(search))(chooseBest(search, planner, limited))
    })
  )

/**
 * Decides for a graph that `buildRequestGraph` has built. Fails with one sentence: a given plan
 * that is none for the graph, or a budget that nothing fits, with the smallest that would do.
 */
export const decideGraph = (graph: Graph, request: PlanRequest): E.Either<StagingError, Decision> =>
  pipe(
    request.given === undefined
      ? E.right<StagingError, unknown>(undefined)
      : E.mapLeft(ofPlan)(checkGraphPlan(withShard(graph, request.objective), request.given)),
    E.chain(() => decidePrepared(request, prepare(graph, request)))
  )

/** Decides for a model. Fails as `buildRequestGraph` and `decideGraph` do. */
export const decide = (request: StageRequest): E.Either<StagingError, Decision> =>
  pipe(
    buildRequestGraph(request),
    E.chain((graph) => decideGraph(graph, request))
  )

/** One of the ways to plan for a graph on a device. */
export type DecideChoice = (choice: Pick<PlanRequest, 'strategy' | 'budget'>) => E.Either<StagingError, Decision>

/**
 * Decides for a graph by one strategy and budget after the other: what all of them ask is found out
 * once.
 */
export const decideEach = (graph: Graph, request: Omit<PlanRequest, 'strategy' | 'budget' | 'given'>): DecideChoice => {
  const prepared = prepare(graph, request)
  return ({ strategy, budget }) => decidePrepared({ ...request, strategy, ...(budget && { budget }) }, prepared)
}
