import { segmentEstimator } from './lowering/cost/estimate'
import { lazy, memoize } from './memoize'
import { lower, type Lowered } from './lowering'
import type { Lowering } from './lowering/segment/create-scope'
import { microBatches } from './graph/objective'
import { inOrder, hoistPoolAboveRelu, type Order } from './graph/order'
import { buildTimeline } from './lowering/cost/timeline'
import { alignment } from './placement/placement'
import { createPlan, staticPlacement, type PlacementChoice, type Plan } from './plans/plan'
import { planners, strategies, type Planner, type StrategyName } from './strategies'
import { largestTensorBytes, leastBytesEstimator } from './strategies/least-bytes'
import type { Decisions, CandidateEstimate, Search, Segmentation, Strategy } from './strategies/strategy'
import { wholeGraph } from './strategies/plain'
import { createVariants, withVariants } from './strategies/variants'

/** A plan with its exact peak and predicted time. */
export interface Candidate extends Lowered, Plan {}

/** What a strategy answers to budgets in bytes. */
export interface PlanSearch {
  /**
   * The fastest that fits, beyond `slowest` milliseconds perhaps none. Never slower for a larger
   * budget.
   */
  readonly within: (budget: number, slowest?: number) => Candidate | undefined
  /** The smallest budget for which there is an answer, and that answer. */
  readonly least: () => { readonly budget: number; readonly candidate: Candidate } | undefined
  /**
   * The fewest bytes on the host with which anything fits the budget; undefined where nothing does.
   */
  readonly leastHost: (budget: number) => number | undefined
}

/** A plan, lowered; `lowering` has the graph as written. */
export const createCandidate = (lowering: Lowering, plan: Plan): Candidate => {
  // A candidate is a plan too, whose answers are of another lowering.
  const { order, segments, swapSchedule, placement } = plan
  return { ...lower(lowering, plan), order, segments, swapSchedule, placement }
}

const fastestOf = (candidates: readonly Candidate[]): Candidate | undefined =>
  candidates.reduce<Candidate | undefined>(
    (fastest, one) => (fastest === undefined || one.milliseconds() < fastest.milliseconds() ? one : fastest),
    undefined
  )

/**
 * Whether what is live at once may be placed in a budget: a placement ends before the padding of
 * its last buffer.
 */
const mayLieIn = (budget: number, liveBytes: number): boolean => liveBytes < budget + alignment

/** A prospect that is lowered when it comes into question. */
interface Lowerable extends Omit<CandidateEstimate, 'decisions' | 'nanoseconds'> {
  /** What it takes at least. */
  readonly milliseconds: () => number
  readonly lowered: () => Candidate
}

/** The best of all that a strategy may decide. None does with fewer bytes than `leastBytes`. */
const fixedAnswers = (hostBudget: number, leastBytes: number, all: () => readonly Lowerable[]): PlanSearch => {
  const prospects = lazy(all)
  const mayFit = lazy(() => prospects().filter(({ hostBytes }) => mayLieIn(hostBudget, hostBytes)))
  const isWithin = (budget: number, { liveBytes, liveHostBytes, peakBytes, hostBytes }: Candidate): boolean =>
    mayLieIn(budget, liveBytes()) && mayLieIn(hostBudget, liveHostBytes()) && peakBytes() <= budget && hostBytes() <= hostBudget
  const fewestFirst = (bytes: (one: Lowerable) => number, among: readonly Lowerable[]): readonly Lowerable[] =>
    [...among].sort((a, b) => bytes(a) - bytes(b))
  return {
    within: (budget, slowest = Infinity) => {
      if (budget < leastBytes) return undefined
      const small = mayFit().filter(({ deviceBytes }) => mayLieIn(budget, deviceBytes))
      let best: Candidate | undefined
      for (const { milliseconds, lowered } of small.sort((a, b) => a.milliseconds() - b.milliseconds())) {
        const mayBeBest = (time: number): boolean => (best === undefined ? time <= slowest : time < best.milliseconds())
        if (!mayBeBest(milliseconds())) break
        if (mayBeBest(lowered().milliseconds()) && isWithin(budget, lowered())) best = lowered()
      }
      return best
    },
    least: () => {
      let least: Candidate | undefined
      for (const { deviceBytes, lowered } of fewestFirst((one) => one.deviceBytes, mayFit())) {
        const most = (least?.peakBytes() ?? Infinity) - 1
        if (!mayLieIn(most, deviceBytes)) break
        if (isWithin(most, lowered())) least = lowered()
      }
      return least && { budget: least.peakBytes(), candidate: least }
    },
    leastHost: (budget) => {
      const small = prospects().filter(({ deviceBytes }) => mayLieIn(budget, deviceBytes))
      let least: number | undefined
      for (const { hostBytes, lowered } of fewestFirst((one) => one.hostBytes, small)) {
        if (!mayLieIn((least ?? Infinity) - 1, hostBytes)) break
        if (mayLieIn(budget, lowered().liveBytes()) && lowered().peakBytes() <= budget)
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
  lowered: (segments: Segmentation) => Candidate,
  mostBytes: number
): PlanSearch => {
  const targets: number[] = []
  for (let rest = firstTarget; rest < 2 * mostBytes; rest *= targetRatio) targets.push(search.residentBytes + Math.floor(rest))
  const top = targets.length - 1
  const known = new Map<number, readonly Candidate[]>()
  const segmentationsAt = (rung: number): readonly Segmentation[] => segmentations(targets[rung]!)
  const candidatesAt = (rung: number): readonly Candidate[] => {
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

  const within = (budget: number): Candidate | undefined => {
    for (let rung = startFor(budget); rung >= 0; rung--) {
      const candidates = candidatesAt(rung)
      if (candidates.length === 0) return undefined
      const fitting = candidates.find(({ liveBytes, peakBytes }) => mayLieIn(budget, liveBytes()) && peakBytes() <= budget)
      if (fitting !== undefined) return fitting
    }
    return undefined
  }
  return {
    within,
    leastHost: (budget) => within(budget)?.hostBytes(),
    least: () => {
      let [low, high] = [0, top]
      while (low < high) {
        const middle = (low + high) >> 1
        if (segmentationsAt(middle).length > 0) high = middle
        else low = middle + 1
      }
      let least: { readonly budget: number; readonly candidate: Candidate } | undefined
      for (let rung = low; rung <= top && (least === undefined || reaching(rung) < least.budget); rung++)
        for (const candidate of candidatesAt(rung)) {
          const budget = Math.max(candidate.peakBytes(), reaching(rung))
          if (least === undefined || budget < least.budget) least = { budget, candidate }
        }
      return least
    }
  }
}

/**
 * What strategies ask of a graph in an order; answers are remembered over all that want the same
 * one.
 */
const searches = (written: Lowering, residentBytes: number): ((order: Order) => Search) => {
  const known = new Map<string, Search>()
  return (order) => {
    const found = known.get(order.join())
    if (found !== undefined) return found
    const lowering: Lowering = { ...written, graph: inOrder(written.graph, order) }
    const variants = lazy(() => createVariants(lowering))
    const search: Search = {
      lowering,
      residentBytes,
      estimate: segmentEstimator(lowering),
      variants: (span) => variants()(span),
      timeline: (segments) => buildTimeline(lowering, segments)
    }
    known.set(order.join(), search)
    return search
  }
}

const createStrategySearch = (
  written: Lowering,
  strategy: Strategy,
  searchIn: (order: Order) => Search,
  plain: Candidate,
  hostBudget: number,
  placement: PlacementChoice
): PlanSearch => {
  const order = strategy.order(written.graph)
  const search = searchIn(order)
  const { lowering } = search
  const known = new Map<string, Candidate>()
  const lowered = ({ segments, swapSchedule }: Decisions): Candidate => {
    const key = JSON.stringify([segments, swapSchedule])
    const candidate = known.get(key) ?? createCandidate(written, { order, segments, swapSchedule, placement })
    known.set(key, candidate)
    return candidate
  }
  const onDevice = (segments: Segmentation): Candidate => lowered({ segments, swapSchedule: [] })
  const wholeBytes = (): number => search.residentBytes + largestTensorBytes(lowering)
  const milliseconds = (nanoseconds: number): number => (microBatches(lowering.objective) * nanoseconds) / 1e6
  switch (strategy.kind) {
    case 'fixed': {
      const estimated = (segments: Segmentation): number =>
        milliseconds(segments.reduce((sum, segment) => sum + search.estimate(segment)!.nanoseconds(), 0))
      // What every plan does beside its segments.
      const common = lazy(() => plain.milliseconds() - estimated(wholeGraph(lowering.graph)))
      const bytesOf = leastBytesEstimator(lowering, search.residentBytes)
      return fixedAnswers(hostBudget, wholeBytes(), () =>
        strategy.all(search).map((segments) => ({
          deviceBytes: bytesOf(segments),
          hostBytes: 0,
          milliseconds: lazy(() => common() + estimated(segments)),
          lowered: () => onDevice(segments)
        }))
      )
    }
    case 'swapping':
      return fixedAnswers(hostBudget, strategy.tiles === true ? search.residentBytes : wholeBytes(), () =>
        strategy.all(search).map(({ decisions, nanoseconds, ...bytes }) => ({
          ...bytes,
          milliseconds: () => milliseconds(nanoseconds()),
          lowered: lazy(() => lowered(decisions()))
        }))
      )
    case 'targeted': {
      // Whole and with the fastest kernels, whose scratch may be larger than all the rest.
      const [fastest] = withVariants(search.variants, wholeGraph(lowering.graph))
      return ladderAnswers(search, strategy.within(search), onDevice, Math.max(plain.peakBytes(), onDevice(fastest!).liveBytes()))
    }
  }
}

/**
 * Milliseconds of the fastest kernels, run once each in the better order, without a map or a
 * transfer: no plan takes less.
 */
export const lowerBound = (written: Lowering): number => {
  const order = hoistPoolAboveRelu(written.graph)
  const lowering = { ...written, graph: inOrder(written.graph, order) }
  const [fastest] = withVariants(createVariants(lowering), wholeGraph(lowering.graph))
  return createCandidate(written, createPlan(order, fastest!)).milliseconds()
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
      const found = new Map<PlanSearch, Candidate | undefined>()
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
        .reduce<ReturnType<PlanSearch['least']>>(
          (least, one) => (least === undefined || one.budget < least.budget ? one : least),
          undefined
        ),
    leastHost: (budget) =>
      all
        .flatMap((answers) => answers.leastHost(budget) ?? [])
        .reduce<number | undefined>((least, bytes) => Math.min(least ?? bytes, bytes), undefined)
  }
}

/** `plain` is the model's plain plan. */
export const createPlanSearches = (
  written: Lowering,
  plain: Candidate,
  hostBudget?: number,
  placement: PlacementChoice = staticPlacement
): PlanSearches => {
  const searchIn = searches(written, plain.residentBytes)
  const answersBy = memoize(
    (name: Planner) => name,
    (name) => ({
      kind: strategies[name].kind,
      ...createStrategySearch(written, strategies[name], searchIn, plain, hostBudget ?? Infinity, placement)
    })
  )
  const mayTake = (name: Planner): boolean =>
    strategies[name].partOf === undefined &&
    (written.graph.directives.length === 0 || strategies[name].obeysDirectives) &&
    (hostBudget !== undefined || strategies[name].kind !== 'swapping')
  const leastMilliseconds = lazy(() => lowerBound(written))
  const auto = lazy(() => fastestAnswers(planners.filter(mayTake).map(answersBy), leastMilliseconds))
  return { by: (strategy) => (strategy === 'auto' ? auto() : answersBy(strategy)), leastMilliseconds }
}
