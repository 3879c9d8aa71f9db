import { segmentEstimator } from './lowering/cost/estimate'
import { lazy, memoize } from './memoize'
import { lower, type Lowered } from './lowering'
import type { DeviceModel } from './devices/device-model'
import { withoutRanks, type StepGraph } from './graph/step-graph'
import type { LeastPlan } from './budget-errors'
import { reducingRanks, stepsOfUpdate } from './graph/objective'
import { inOrder, hoistPoolAboveRelu, sourceOrder, type Order } from './graph/order'
import { untiled } from './graph/span'
import { leastSharesComputed } from './graph/unread'
import { createTimelines } from './lowering/cost/timeline'
import type { Plan, PlanPlacement } from './plans/plan'
import { planners, strategies, type Planner, type StrategyName } from './strategies'
import { leastBytesEstimator } from './strategies/least-bytes'
import { aboutNanoseconds, keptBytesEstimator } from './strategies/least-kept'
import type { Link, Search, Segmentation, Strategy } from './strategies/strategy'
import { wholeGraph } from './strategies/plain'
import { allOnLoad } from './strategies/normalise-on-load'
import { createVariants, findLastVariant, withVariants } from './strategies/variants'
import { listOffloadable, offload } from './offloading'
import { lowerOverlapping, overlapReductions, overlapRows } from './overlap-reductions'
import { findFastest, mayLieIn, type PlanSearch } from './plan-search'
import type { Searched } from './request'
import { createStrategySearch, findLeastBytes } from './search-strategy'

export type { PlanSearch } from './plan-search'

/** Counts what the searches of all strategies look at. */
interface Looked {
  readonly atSegment: () => void
  readonly atPlan: () => void
}

const createLooked = (onSearch: (searched: Searched) => void): Looked => {
  let [plans, segments] = [0, 0]
  return {
    atSegment: () => onSearch({ plans, segments: ++segments }),
    atPlan: () => onSearch({ plans: ++plans, segments })
  }
}

/**
 * What strategies ask of a graph in an order; answers are remembered over all that want the same
 * one.
 */
const createSearches = (written: StepGraph, device: DeviceModel, persistentBytes: number, looked: Looked): ((order: Order) => Search) => {
  const known = new Map<string, Search>()
  return (order) => {
    const found = known.get(order.join())
    if (found !== undefined) return found
    const graph = inOrder(written, order)
    const variants = lazy(() => createVariants(graph, device))
    const onLoad = allOnLoad(graph, device)
    const estimate = segmentEstimator(graph, device)
    const keptBytes = lazy(() => keptBytesEstimator(graph, device))
    const timelineOf = lazy(() => createTimelines(graph, device))
    const search: Search = {
      order,
      graph,
      device,
      persistentBytes,
      estimate: (segment, onHost) => {
        looked.atSegment()
        return estimate(segment, onHost)
      },
      variants: (span) => variants()(span),
      lastVariant: (span) => findLastVariant(device, variants, onLoad, span),
      timeline: memoize(JSON.stringify, (segments: Segmentation) => {
        looked.atPlan()
        return timelineOf()(segments)
      }),
      keptBytes: (segments, onHost) => keptBytes()(segments, onHost)
    }
    known.set(order.join(), search)
    return search
  }
}

/** Of milliseconds that whole tensors take, what tiles take at least: strides pass over parts. */
const leastInTiles = (graph: StepGraph, device: DeviceModel, milliseconds: number): number => {
  const shares = leastSharesComputed(graph, { from: 0, to: graph.nodes.length })
  const least = Math.min(...shares)
  if (least === 1) return milliseconds
  const estimate = segmentEstimator(graph, device)
  const leftOut = shares.reduce((sum, share, from) => {
    if (share === 1) return sum
    const alone = estimate({ from, to: from + 1, grid: untiled, recompute: false, reorder: 'once' })
    return sum + (1 - share) * alone!.nanoseconds()
  }, 0)
  // Alone ops may take more than beside others: then more would be left out than there is.
  return Math.max(least * milliseconds, milliseconds - (stepsOfUpdate(graph.objective) * leftOut) / 1e6)
}

/**
 * Milliseconds of the fastest kernels, run once each in the better order, on what tiles compute at
 * least, without a map or a transfer: no plan in either of these orders takes less.
 */
const lowerBound = (written: StepGraph, device: DeviceModel): number => {
  const millisecondsIn = (order: Order): number => {
    const graph = inOrder(written, order)
    const [fastest] = withVariants(createVariants(graph, device), wholeGraph(graph))
    const { milliseconds } = lower(written, { order, segments: fastest!, overlapReduction: true }, device)
    return leastInTiles(graph, device, milliseconds())
  }
  const orders = new Map([hoistPoolAboveRelu, sourceOrder].map((orderOf) => orderOf(written)).map((order) => [order.join(), order]))
  return Math.min(...[...orders.values()].map(millisecondsIn))
}

/** Milliseconds that no plan for one process undercuts, of a graph that ranks share. */
export const leastOfOneRank = (graph: StepGraph, device: DeviceModel): number => lowerBound(withoutRanks(graph), device)

/** What all strategies answer for a model on a device; what one has found out serves the others. */
export interface PlanSearches {
  /**
   * A strategy's answers; of `auto`, the fastest of all strategies' answers, or of those that obey
   * the model's directives where it has any; they swap where there is a budget of host bytes.
   */
  readonly by: (strategy: StrategyName) => PlanSearch
  /** As `lowerBound`. */
  readonly leastMilliseconds: () => number
}

/**
 * Those that tile and transfer come last, for they take longest: what the others find spares them
 * their search for what is slower. Those that tile come before those that transfer, or after.
 */
const searchRank = ({ kind, tiles }: Answers, tilesFirst: boolean): number => {
  if (kind === 'swapping') return tiles ? 4 : tilesFirst ? 3 : 0
  return kind === 'targeted' ? 1 : 2
}

/** How much longer than any plan takes swapping whole tensors may take to be likely a fast plan. */
const likelySwapping = 1.2

/** A strategy's answers, and whether it may tile what it swaps. */
interface Answers extends PlanSearch, Pick<Strategy, 'kind'> {
  readonly tiles: boolean
}

/** Milliseconds that no plan of strategies undercuts. */
interface LeastTimes {
  readonly ofAny: () => number
  /** Bytes that what computes nothing twice and swaps nothing needs at least. */
  readonly keptBytes: () => number
  /** Where whole tensors are swapped, with so many bytes on the device. */
  readonly ofSwapping: (deviceBytes: number) => number
}

/** Whether swapping whole tensors is likely to be fast with so many bytes on the device. */
const isSwappingLikely = ({ ofAny, ofSwapping }: LeastTimes, deviceBytes: number): boolean =>
  ofSwapping(deviceBytes) <= likelySwapping * ofAny()

/** The fastest of several strategies' answers. */
const fastestAnswers = (all: readonly Answers[], times: LeastTimes): PlanSearch => {
  const { ofAny } = times
  const swaps = all.some(({ kind }) => kind === 'swapping')
  const searched = (tilesFirst: boolean): readonly Answers[] =>
    [...all].sort((a, b) => searchRank(a, tilesFirst) - searchRank(b, tilesFirst))
  return {
    within: (budget, atMost = Infinity) => {
      const found = new Map<PlanSearch, Lowered | undefined>()
      let slowest = atMost
      const ask = (answers: Answers, atMost: number): void => {
        const candidate = answers.within(budget, atMost)
        found.set(answers, candidate)
        slowest = Math.min(slowest, candidate?.milliseconds() ?? Infinity)
      }
      const tilesFirst = swaps && !isSwappingLikely(times, budget)
      // Where tiles alone are as fast as can be, which is soon known, nothing need be swapped.
      if (swaps && !tilesFirst && mayLieIn(budget, times.keptBytes()))
        for (const answers of all) if (answers.kind === 'targeted') ask(answers, Math.min(atMost, ofAny()))
      for (const answers of searched(tilesFirst))
        if (found.get(answers) === undefined && (answers.kind !== 'swapping' || slowest > ofAny())) ask(answers, slowest)
      return findFastest(all.flatMap((answers) => found.get(answers) ?? []))
    },
    // What tiles and transfers does with least, most likely, which spares the others their search.
    least: (below) =>
      [...searched(true)]
        .reverse()
        .reduce<LeastPlan | undefined>((least, answers) => answers.least(least?.budget ?? below) ?? least, undefined),
    refusedKernel: () => all.map((answers) => answers.refusedKernel()).find((kernel) => kernel !== undefined),
    leastHost: (budget) =>
      all
        .flatMap((answers) => answers.leastHost(budget) ?? [])
        .reduce<number | undefined>((least, bytes) => Math.min(least ?? bytes, bytes), undefined)
  }
}

/**
 * The searches of all strategies for plans of a graph on a device. `plain` is its plain plan,
 * lowered; `hostBudget` in bytes, without a limit and without swapping where absent; `onSearch` is
 * told what they look at.
 */
export const createPlanSearches = (
  graph: StepGraph,
  device: DeviceModel,
  plain: Lowered,
  hostBudget?: number,
  placement?: PlanPlacement,
  onSearch: (searched: Searched) => void = () => undefined
): PlanSearches => {
  const looked = createLooked(onSearch)
  const searchIn = createSearches(graph, device, plain.residentBytes, looked)
  const leastBytesIn = memoize(({ order }: Search) => order.join(), findLeastBytes)
  const searchBy = (strategy: Strategy, link: Link): ((hostBytes: number) => PlanSearch) => {
    const searchWith = (lowerWith: typeof lower, updateMilliseconds: () => number): ((hostBytes: number) => PlanSearch) => {
      const lowerPlan = ({ order, segments, swapSchedule = [] }: Plan): Lowered => {
        looked.atPlan()
        const more = { ...(swapSchedule.length > 0 && { swapSchedule }), ...(placement && { placement }) }
        return lowerWith(graph, { order, segments, ...more }, device)
      }
      return createStrategySearch({ written: graph, searchIn, leastBytesIn, plain, lowerPlan, updateMilliseconds }, strategy, link)
    }
    const alone = searchWith(lower, plain.updateMilliseconds)
    if (graph.shard === undefined) return alone
    const beside = searchWith(lowerOverlapping, lower(graph, { ...plain.plan, overlapReduction: true }, device).updateMilliseconds)
    return (hostBytes) => overlapRows(alone(hostBytes), beside(hostBytes))
  }
  const searchesBy = memoize(
    ([name, link]: readonly [Planner, Link]) => `${name}, ${link}`,
    ([name, link]) => searchBy(strategies[name], link)
  )
  const mayTile = (name: Planner): boolean => 'tiles' in strategies[name]
  const createAnswers = (name: Planner, hostBytes: number, link: Link = 'alone'): Answers => ({
    kind: strategies[name].kind,
    tiles: mayTile(name),
    ...searchesBy([name, link])(hostBytes)
  })
  const answersBy = memoize(
    (name: Planner) => name,
    (name) => createAnswers(name, hostBudget ?? Infinity)
  )
  const mayTake = (name: Planner): boolean =>
    strategies[name].partOf === undefined &&
    (graph.directives.length === 0 || strategies[name].obeysDirectives) &&
    (hostBudget !== undefined || strategies[name].kind !== 'swapping')
  const leastMilliseconds = lazy(() =>
    graph.shard === undefined ? lowerBound(graph, device) : leastOfOneRank(graph, device) / reducingRanks(graph.objective)!
  )
  const swappingWhole = lazy(() => {
    const search = searchIn(sourceOrder(graph))
    const [fastest] = withVariants(search.variants, wholeGraph(search.graph))
    return aboutNanoseconds(search, fastest!, new Set())
  })
  const keptBytes = lazy(() => {
    const search = searchIn(sourceOrder(graph))
    return leastBytesEstimator(search.graph, device, search.persistentBytes)(wholeGraph(search.graph))
  })
  const ofSwapping = (deviceBytes: number): number => (stepsOfUpdate(graph.objective) * swappingWhole()(deviceBytes)) / 1e6
  /** Nothing else is looked at where plain, the first of equals, is as fast as can be. */
  const afterPlain = (others: PlanSearch): PlanSearch => ({
    ...others,
    within: (budget, slowest) => {
      const found = mayTake('plain') ? answersBy('plain').within(budget, slowest) : undefined
      return found !== undefined && found.milliseconds() <= leastMilliseconds() ? found : others.within(budget, slowest)
    }
  })
  const auto = lazy(() => {
    const times = { ofAny: leastMilliseconds, ofSwapping, keptBytes }
    const taken = planners.filter(mayTake)
    const resident = fastestAnswers(taken.map(answersBy), times)
    const movable = hostBudget === undefined ? [] : listOffloadable(graph, device, plain).filter(({ hostBytes }) => hostBytes <= hostBudget)
    if (movable.length === 0) return resident
    const { savedBytes: lowestTarget, hostBytes } = movable[0]!
    const alone = fastestAnswers(taken.filter((name) => strategies[name].kind !== 'swapping').map(answersBy), times)
    const besideState = (name: Planner): Answers =>
      strategies[name].kind === 'swapping'
        ? // Others are asked for the same either way.
          createAnswers(name, hostBudget! - hostBytes, mayTile(name) ? 'beside state' : 'alone')
        : answersBy(name)
    const beside = fastestAnswers(taken.map(besideState), times)
    const swapsFirst = (deviceBytes: number): boolean => isSwappingLikely(times, deviceBytes)
    return movable.reduce(
      (before, offloadable) =>
        offload(graph, device, offloadable, {
          ...{ alone, beside, hostBudget: hostBudget!, lowestTarget, leastMilliseconds, swapsFirst },
          resident: before
        }),
      resident
    )
  })
  const overlapped = memoize(
    (name: StrategyName) => name,
    (name) => overlapReductions(graph, device, name === 'auto' ? afterPlain(auto()) : answersBy(name))
  )
  return { by: overlapped, leastMilliseconds }
}
