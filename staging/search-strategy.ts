import { stepsOfUpdate } from './graph/objective'
import type { Order } from './graph/order'
import { tileCount } from './graph/span'
import type { StepGraph } from './graph/step-graph'
import type { Lowered } from './lowering'
import { unlimitedBytes } from './lowering/scope/workspace'
import { lazy, memoize, memoizePerObject } from './memoize'
import type { PlanSearch } from './plan-search'
import type { Plan, Segment } from './plans/plan'
import { searchCandidates, type Candidate, type CandidateFamily, type CandidateGroup } from './search-candidates'
import { searchTargets } from './search-targets'
import { blockPairs } from './strategies/block-pairs'
import { largestLayerBytes, largestTensorBytes, leastBytesEstimator } from './strategies/least-bytes'
import { loadMargin } from './strategies/least-kept'
import { wholeGraph } from './strategies/plain'
import type { Link, PlanEstimate, ScheduledSegmentation, Search, Segmentation, Strategy } from './strategies/strategy'
import { withVariants } from './strategies/variants'

/** Bytes that no plan of a graph in an order does without, each found out when first asked for. */
export interface LeastBytes {
  readonly tiled: () => number
  /** Without tiles. */
  readonly whole: () => number
}

export const findLeastBytes = ({ graph, device, persistentBytes }: Search): LeastBytes => {
  const tiled = lazy(() => persistentBytes + largestLayerBytes(graph, device))
  return { tiled, whole: lazy(() => Math.max(tiled(), persistentBytes + largestTensorBytes(graph, device))) }
}

/** What the searches of all strategies share. */
export interface SearchedGraph {
  readonly written: StepGraph
  readonly searchIn: (order: Order) => Search
  readonly leastBytesIn: (search: Search) => LeastBytes
  /** The plan `plain`. */
  readonly plain: Lowered
  /** Lowers a plan with what is decided of all plans alike. */
  readonly lowerPlan: (plan: Plan) => Lowered
  /** Of each of these, what follows micro-batches. */
  readonly updateMilliseconds: () => number
}

/**
 * The answers of a strategy, of plans that keep at most so many bytes on the host; what it finds
 * serves all host budgets.
 */
export const createStrategySearch = (
  { written, searchIn, leastBytesIn, plain, lowerPlan, updateMilliseconds }: SearchedGraph,
  strategy: Strategy,
  link: Link
): ((hostBudget: number) => PlanSearch) => {
  const search = searchIn(strategy.order(written))
  const { order, graph, device, persistentBytes } = search
  const lowered = memoize(({ segments, swapSchedule = [] }: Plan) => JSON.stringify([segments, swapSchedule]), lowerPlan)
  const onDevice = (segments: Segmentation): Lowered => lowered({ order, segments })
  const { tiled: tiledBytes, whole: wholeBytes } = leastBytesIn(search)
  const milliseconds = (nanoseconds: number): number => (stepsOfUpdate(graph.objective) * nanoseconds) / 1e6
  const inNanoseconds = (slowest: number): number => (1e6 * slowest) / stepsOfUpdate(graph.objective)
  switch (strategy.kind) {
    case 'fixed': {
      const estimated = (segments: Segmentation): number =>
        milliseconds(segments.reduce((sum, segment) => sum + search.estimate(segment)!.nanoseconds(), 0))
      const leastOf = (segment: Segment): number =>
        (tileCount(segment.grid) === 1 ? blockPairs(search).nanoseconds(segment) : undefined) ?? search.estimate(segment)!.nanoseconds()
      const atLeast = (segments: Segmentation): number => milliseconds(segments.reduce((sum, segment) => sum + leastOf(segment), 0))
      // What every plan does beside its segments.
      const common = lazy(() => plain.milliseconds() - estimated(wholeGraph(graph)))
      const bytesOf = leastBytesEstimator(graph, device, persistentBytes)
      const candidates = lazy(() =>
        strategy.all(search).map((segments) => ({
          deviceBytes: bytesOf(segments),
          hostBytes: 0,
          leastMilliseconds: lazy(() => common() + atLeast(segments)),
          milliseconds: lazy(() => common() + estimated(segments)),
          refusedKernel: undefined,
          lowered: () => onDevice(segments)
        }))
      )
      const family: CandidateFamily = { aboutMilliseconds: () => 0, leastMilliseconds: () => 0, candidates }
      return (hostBudget) => searchCandidates(hostBudget, wholeBytes(), () => [{ target: undefined, families: () => [family] }])
    }
    case 'swapping': {
      const toCandidate = ({ plan, nanoseconds, leastNanoseconds, ...bytes }: PlanEstimate): Candidate => ({
        ...bytes,
        leastMilliseconds: () => milliseconds(leastNanoseconds) + updateMilliseconds(),
        milliseconds: () => milliseconds(nanoseconds()) + updateMilliseconds(),
        lowered: lazy(() => lowered(plan()))
      })
      const toFamily = memoizePerObject(
        () => 0,
        ({ aboutNanoseconds, leastNanoseconds, estimates }: ScheduledSegmentation): CandidateFamily => ({
          aboutMilliseconds: (deviceBytes) => milliseconds(aboutNanoseconds(deviceBytes)) + updateMilliseconds(),
          leastMilliseconds: (deviceBytes) => milliseconds(leastNanoseconds(deviceBytes)) + updateMilliseconds(),
          candidates: lazy(() => estimates().map(toCandidate))
        })
      )
      const groups = lazy(() =>
        strategy.groups(search, link).map(({ target, scheduled }): CandidateGroup => ({
          target,
          families: (slowest, deviceBytes) => scheduled(inNanoseconds(slowest), deviceBytes).map((one) => toFamily(one))
        }))
      )
      return (hostBudget) => searchCandidates(hostBudget, strategy.tiles === true ? tiledBytes() : wholeBytes(), groups)
    }
    case 'targeted': {
      // Whole and with the fastest kernels, whose scratch may be larger than all the rest.
      const [segments] = withVariants(search.variants, wholeGraph(graph))
      const { refusedKernel, liveBytes } = onDevice(segments!)
      const maxBytes = refusedKernel() === undefined ? Math.max(plain.peakBytes(), liveBytes()) : unlimitedBytes
      const { leastKept, within } = strategy.within(search)
      const found = searchTargets(
        {
          persistentBytes,
          leastKept,
          segmentations: (target, slowest) => within(target, loadMargin(device) * inNanoseconds(slowest)),
          // What ranks exchange beside computing no segment tells by itself.
          isOrdered: graph.shard === undefined
        },
        onDevice,
        maxBytes,
        refusedKernel
      )
      return () => found
    }
  }
}
