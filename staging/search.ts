import { segmentEstimator } from './lowering/cost/estimate'
import { lazy, memoize } from './memoize'
import { lower, type Lowered } from './lowering'
import type { DeviceModel } from './devices/device-model'
import type { StepGraph } from './graph/step-graph'
import type { KernelKind } from './kernels/kernels'
import { unlimitedBytes } from './lowering/scope/workspace'
import type { LeastPlan } from './budget-errors'
import { microBatches } from './graph/objective'
import { inOrder, hoistPoolAboveRelu, type Order } from './graph/order'
import { buildTimeline } from './lowering/cost/timeline'
import { alignment } from './placement/placement'
import type { Plan, PlanPlacement } from './plans/plan'
import { planners, strategies, type Planner, type StrategyName } from './strategies'
import { largestTensorBytes, leastBytesEstimator } from './strategies/least-bytes'
import type { PlanEstimate, Search, Segmentation, Strategy } from './strategies/strategy'
import { wholeGraph } from './strategies/plain'
import { createVariants, withVariants } from './strategies/variants'

/** What a strategy answers to budgets in bytes. */
export interface PlanSearch {
  /**
   * The fastest that fits, beyond `slowest` milliseconds perhaps none. Never slower for a larger
   * budget.
   */
  readonly within: (budget: number, slowest?: number) => Lowered | undefined
  /** The smallest budget for which there is an answer, and that answer. */
  readonly least: () => LeastPlan | undefined
  /** Where there is no answer to any budget: a kernel that the device refuses, if that is why. */
  readonly refusedKernel: () => KernelKind | undefined
  /**
   * The fewest bytes on the host with which anything fits the budget; undefined where nothing does.
   */
  readonly leastHost: (budget: number) => number | undefined
}

const fastestOf = (candidates: readonly Lowered[]): Lowered | undefined =>
  candidates.reduce<Lowered | undefined>(
    (fastest, one) => (fastest === undefined || one.milliseconds() < fastest.milliseconds() ? one : fastest),
    undefined
  )

/**
 * Whether what is live at once may be placed in a budget: a placement ends before the padding of
 * its last buffer.
 */
const mayLieIn = (budget: number, liveBytes: number): boolean => liveBytes < budget + alignment

/** A prospect that is lowered when it comes into question. */
interface Lowerable extends Omit<PlanEstimate, 'plan' | 'nanoseconds'> {
  /** What it takes at least. */
  readonly milliseconds: () => number
  readonly lowered: () => Lowered
}

/** The best of all that a strategy may decide. None does with fewer bytes than `leastBytes`. */
const fixedAnswers = (hostBudget: number, leastBytes: number, all: () => readonly Lowerable[]): PlanSearch => {
  const prospects = lazy(all)
  const mayRun = lazy(() => prospects().filter(({ refusedKernel }) => refusedKernel === undefined))
  const mayFit = lazy(() => mayRun().filter(({ hostBytes }) => mayLieIn(hostBudget, hostBytes)))
  const isWithin = (budget: number, { refusedKernel, liveBytes, liveHostBytes, peakBytes, hostBytes }: Lowered): boolean =>
    refusedKernel() === undefined &&
    mayLieIn(budget, liveBytes()) &&
    mayLieIn(hostBudget, liveHostBytes()) &&
    peakBytes() <= budget &&
    hostBytes() <= hostBudget
  const fewestFirst = (bytes: (one: Lowerable) => number, among: readonly Lowerable[]): readonly Lowerable[] =>
    [...among].sort((a, b) => bytes(a) - bytes(b))
  return {
    within: (budget, slowest = Infinity) => {
      if (budget < leastBytes) return undefined
      const small = mayFit().filter(({ deviceBytes }) => mayLieIn(budget, deviceBytes))
      let best: Lowered | undefined
      for (const { milliseconds, lowered } of small.sort((a, b) => a.milliseconds() - b.milliseconds())) {
        const mayBeBest = (time: number): boolean => (best === undefined ? time <= slowest : time < best.milliseconds())
        if (!mayBeBest(milliseconds())) break
        if (mayBeBest(lowered().milliseconds()) && isWithin(budget, lowered())) best = lowered()
      }
      return best
    },
    least: () => {
      let least: Lowered | undefined
      for (const { deviceBytes, lowered } of fewestFirst((one) => one.deviceBytes, mayFit())) {
        const most = (least?.peakBytes() ?? Infinity) - 1
        if (!mayLieIn(most, deviceBytes)) break
        if (isWithin(most, lowered())) least = lowered()
      }
      return least && { budget: least.peakBytes(), lowered: least }
    },
    refusedKernel: () => {
      for (const { refusedKernel, lowered } of prospects()) {
        const refused = refusedKernel ?? lowered().refusedKernel()
        if (refused !== undefined) return refused
      }
      return undefined
    },
    leastHost: (budget) => {
      const small = mayRun().filter(({ deviceBytes }) => mayLieIn(budget, deviceBytes))
      let least: number | undefined
      for (const { hostBytes, lowered } of fewestFirst((one) => one.hostBytes, small)) {
        if (!mayLieIn((least ?? Infinity) - 1, hostBytes)) break
        const { refusedKernel, liveBytes, peakBytes } = lowered()
        if (refusedKernel() === undefined && mayLieIn(budget, liveBytes()) && peakBytes() <= budget)
          least = Math.min(least ?? Infinity, lowered().hostBytes())
      }
      return least
    }
  }
}

/**
 * The first target leaves so many bytes beside the persistent tensors, and each next one so many
 * times as many.
 */
const firstTarget = 256
const targetRatio = 1.02

/** Targets above the budget that are tried too: what is planned for is seldom all used. */
const ahead = 4

/**
 * A strategy is asked for targets of a fixed ladder, from a few above the budget downwards, until
 * something is exactly within the budget. Its answers take no more time for a higher target, and a
 * larger budget starts higher and accepts more: so it never gets a slower answer, though exact
 * peaks rise and fall along the ladder.
 */
const ladderAnswers = (
  search: Search,
  segmentations: (target: number) => readonly Segmentation[],
  lowered: (segments: Segmentation) => Lowered,
  mostBytes: number,
  refusedKernel: () => KernelKind | undefined
): PlanSearch => {
  const targets: number[] = []
  for (let rest = firstTarget; rest < 2 * mostBytes; rest *= targetRatio) targets.push(search.persistentBytes + Math.floor(rest))
  const top = targets.length - 1
  const known = new Map<number, readonly Lowered[]>()
  const segmentationsAt = (rung: number): readonly Segmentation[] => segmentations(targets[rung]!)
  const candidatesAt = (rung: number): readonly Lowered[] => {
    const candidates = known.get(rung) ?? segmentationsAt(rung).map(lowered)
    known.set(rung, candidates)
    return candidates
  }
  const startFor = (budget: number): number => {
    const first = targets.findIndex((target) => target >= budget)
    return first === -1 ? top : Math.min(top, first + ahead)
  }
  /** The smallest budget that starts at this rung or above. */
  const reaching = (rung: number): number => (rung <= ahead ? 0 : targets[rung - ahead - 1]! + 1)

  const within = (budget: number): Lowered | undefined => {
    for (let rung = startFor(budget); rung >= 0; rung--) {
      const candidates = candidatesAt(rung)
      if (candidates.length === 0) return undefined
      const fitting = candidates.find(
        ({ refusedKernel, liveBytes, peakBytes }) => refusedKernel() === undefined && mayLieIn(budget, liveBytes()) && peakBytes() <= budget
      )
      if (fitting !== undefined) return fitting
    }
    return undefined
  }
  return {
    within,
    leastHost: (budget) => within(budget)?.hostBytes(),
    refusedKernel,
    least: () => {
      let [low, high] = [0, top]
      while (low < high) {
        const middle = (low + high) >> 1
        if (segmentationsAt(middle).length > 0) high = middle
        else low = middle + 1
      }
      let least: LeastPlan | undefined
      for (let rung = low; rung <= top && (least === undefined || reaching(rung) < least.budget); rung++)
        for (const candidate of candidatesAt(rung)) {
          const budget = Math.max(candidate.peakBytes(), reaching(rung))
          if (least === undefined || budget < least.budget) least = { budget, lowered: candidate }
        }
      return least
    }
  }
}

/**
 * What strategies ask of a graph in an order; answers are remembered over all that want the same
 * one.
 */
const createSearches = (written: StepGraph, device: DeviceModel, persistentBytes: number): ((order: Order) => Search) => {
  const known = new Map<string, Search>()
  return (order) => {
    const found = known.get(order.join())
    if (found !== undefined) return found
    const graph = inOrder(written, order)
    const variants = lazy(() => createVariants(graph, device))
    const search: Search = {
      order,
      graph,
      device,
      persistentBytes,
      estimate: segmentEstimator(graph, device),
      variants: (span) => variants()(span),
      timeline: (segments) => buildTimeline(graph, device, segments)
    }
    known.set(order.join(), search)
    return search
  }
}

const createStrategySearch = (
  written: StepGraph,
  strategy: Strategy,
  searchIn: (order: Order) => Search,
  plain: Lowered,
  hostBudget: number,
  placement: PlanPlacement | undefined
): PlanSearch => {
  const search = searchIn(strategy.order(written))
  const { order, graph, device, persistentBytes } = search
  const lowered = memoize(
    ({ segments, swapSchedule = [] }: Plan) => JSON.stringify([segments, swapSchedule]),
    ({ segments, swapSchedule = [] }) =>
      lower(written, { order, segments, ...(swapSchedule.length > 0 && { swapSchedule }), ...(placement && { placement }) }, device)
  )
  const onDevice = (segments: Segmentation): Lowered => lowered({ order, segments })
  const wholeBytes = (): number => persistentBytes + largestTensorBytes(graph, device)
  const milliseconds = (nanoseconds: number): number => (microBatches(graph.objective) * nanoseconds) / 1e6
  switch (strategy.kind) {
    case 'fixed': {
      const estimated = (segments: Segmentation): number =>
        milliseconds(segments.reduce((sum, segment) => sum + search.estimate(segment)!.nanoseconds(), 0))
      // What every plan does beside its segments.
      const common = lazy(() => plain.milliseconds() - estimated(wholeGraph(graph)))
      const bytesOf = leastBytesEstimator(graph, device, persistentBytes)
      return fixedAnswers(hostBudget, wholeBytes(), () =>
        strategy.all(search).map((segments) => ({
          deviceBytes: bytesOf(segments),
          hostBytes: 0,
          milliseconds: lazy(() => common() + estimated(segments)),
          refusedKernel: undefined,
          lowered: () => onDevice(segments)
        }))
      )
    }
    case 'swapping':
      return fixedAnswers(hostBudget, strategy.tiles === true ? persistentBytes : wholeBytes(), () =>
        strategy.all(search).map(({ plan, nanoseconds, ...bytes }) => ({
          ...bytes,
          milliseconds: () => milliseconds(nanoseconds()),
          lowered: lazy(() => lowered(plan()))
        }))
      )
    case 'targeted': {
      // Whole and with the fastest kernels, whose scratch may be larger than all the rest.
      const [segments] = withVariants(search.variants, wholeGraph(graph))
      const { refusedKernel, liveBytes } = onDevice(segments!)
      const mostBytes = refusedKernel() === undefined ? Math.max(plain.peakBytes(), liveBytes()) : unlimitedBytes
      return ladderAnswers(search, strategy.within(search), onDevice, mostBytes, refusedKernel)
    }
  }
}

/**
 * Milliseconds of the fastest kernels, run once each in the better order, without a map or a
 * transfer: no plan takes less.
 */
export const lowerBound = (written: StepGraph, device: DeviceModel): number => {
  const order = hoistPoolAboveRelu(written)
  const graph = inOrder(written, order)
  const [fastest] = withVariants(createVariants(graph, device), wholeGraph(graph))
  return lower(written, { order, segments: fastest! }, device).milliseconds()
}

/** What all strategies answer for a model on a device; what one has found out serves the others. */
export interface PlanSearches {
  /**
   * A strategy's answers; of `auto`, the fastest of all strategies' answers, or of those that obey
   * the model's marks where it has any; they swap where there is a budget of host bytes.
   */
  readonly by: (strategy: StrategyName) => PlanSearch
  /** As `lowerBound`. */
  readonly leastMilliseconds: () => number
}

/** The fastest of several strategies' answers. */
const fastestAnswers = (all: readonly (PlanSearch & Pick<Strategy, 'kind'>)[], leastMilliseconds: () => number): PlanSearch => {
  // What a search finds that looks for it spares the others' slower candidates their placement.
  const guidedFirst = [...all].sort((a, b) => Number(b.kind === 'targeted') - Number(a.kind === 'targeted'))
  return {
    within: (budget) => {
      const found = new Map<PlanSearch, Lowered | undefined>()
      let slowest = Infinity
      for (const answers of guidedFirst) {
        // Where nothing can be faster, nothing need be swapped.
        if (answers.kind === 'swapping' && slowest <= leastMilliseconds()) continue
        const candidate = answers.within(budget, slowest)
        found.set(answers, candidate)
        slowest = Math.min(slowest, candidate?.milliseconds() ?? Infinity)
      }
      return fastestOf(all.flatMap((answers) => found.get(answers) ?? []))
    },
    least: () =>
      all
        .flatMap((answers) => answers.least() ?? [])
        .reduce<LeastPlan | undefined>((least, one) => (least === undefined || one.budget < least.budget ? one : least), undefined),
    refusedKernel: () => all.map((answers) => answers.refusedKernel()).find((kernel) => kernel !== undefined),
    leastHost: (budget) =>
      all
        .flatMap((answers) => answers.leastHost(budget) ?? [])
        .reduce<number | undefined>((least, bytes) => Math.min(least ?? bytes, bytes), undefined)
  }
}

/**
 * The searches of all strategies for plans of a graph on a device. `plain` is its plain plan,
 * lowered; `hostBudget` in bytes, without a limit and without swapping where absent.
 */
export const createPlanSearches = (
  graph: StepGraph,
  device: DeviceModel,
  plain: Lowered,
  hostBudget?: number,
  placement?: PlanPlacement
): PlanSearches => {
  const searchIn = createSearches(graph, device, plain.residentBytes)
  const answersBy = memoize(
    (name: Planner) => name,
    (name) => ({
      kind: strategies[name].kind,
      ...createStrategySearch(graph, strategies[name], searchIn, plain, hostBudget ?? Infinity, placement)
    })
  )
  const mayTake = (name: Planner): boolean =>
    strategies[name].partOf === undefined &&
    (graph.directives.length === 0 || strategies[name].obeysDirectives) &&
    (hostBudget !== undefined || strategies[name].kind !== 'swapping')
  const leastMilliseconds = lazy(() => lowerBound(graph, device))
  const auto = lazy(() => fastestAnswers(planners.filter(mayTake).map(answersBy), leastMilliseconds))
  return { by: (strategy) => (strategy === 'auto' ? auto() : answersBy(strategy)), leastMilliseconds }
}
