import * as E from 'fp-ts/Either'
import type { Given } from './check-segments'
import type { StagingError } from './error'
import type { Graph } from './graph'
import { lower, type Lowered } from './lowering/lower'
import type { Segment } from './plan'
import { strategies, type StrategyName } from './strategies'
import type { Search } from './strategies/strategy'

/** A segmentation with its exact peak. */
export interface Candidate extends Lowered {
  readonly segments: readonly Segment[]
}

/** How often a strategy is asked again, for less, because placement took more than was estimated. */
const attempts = 12

/** Bisections of the last doubling in the search for the smallest budget. */
const bisections = 5

const lowered = (search: Search, segments: readonly Segment[]): Candidate => ({ segments, ...lower(search.lowering, segments) })

const smallestOf = (candidates: readonly (Candidate | undefined)[]): Candidate | undefined =>
  candidates.reduce(
    (smallest, one) => (one !== undefined && (smallest === undefined || one.peakBytes < smallest.peakBytes) ? one : smallest),
    undefined
  )

/** The strategy's best segmentation whose exact peak fits the budget; otherwise the smallest that was met. */
const bestWithin = (search: Search, strategy: StrategyName, budget: number): Candidate | undefined => {
  let target = budget
  let smallest: Candidate | undefined
  for (let attempt = 0; attempt < attempts; attempt++) {
    const candidates: Candidate[] = []
    for (const segments of strategies[strategy](search, target)) {
      const candidate = lowered(search, segments)
      if (candidate.peakBytes <= budget) return candidate
      candidates.push(candidate)
    }
    const closest = smallestOf(candidates)
    if (closest === undefined) break
    smallest = smallestOf([smallest, closest])
    target -= Math.max((closest.peakBytes - budget) / 2, budget / 128)
  }
  return smallest
}

/**
 * The leanest segmentation that the strategy can be brought to find. Budgets climb from just above the residents until one
 * is met, then bisect; every answer is lowered exactly.
 */
const leanest = (search: Search, strategy: StrategyName, plainPeakBytes: number): Candidate | undefined => {
  const within = (budget: number): Candidate | undefined =>
    smallestOf(strategies[strategy](search, budget).map((segments) => lowered(search, segments)))
  let [low, high] = [search.residentBytes, search.residentBytes + plainPeakBytes / 256]
  let best = within(high)
  while (best === undefined && high < 2 * plainPeakBytes) {
    ;[low, high] = [high, search.residentBytes + 2 * (high - search.residentBytes)]
    best = within(high)
  }
  for (let step = 0; best !== undefined && step < bisections; step++) {
    const middle = (low + high) / 2
    const candidate = within(middle)
    if (candidate === undefined) low = middle
    else high = middle
    best = smallestOf([best, candidate])
  }
  return best
}

const inWords = (bytes: number): string => `${Math.ceil(bytes)} bytes` + (bytes < 2 ** 20 ? '' : ` (${(bytes / 2 ** 20).toFixed(1)} MiB)`)

const tooSmall = (graph: Graph, planner: string, budget: number, least: Candidate | undefined): StagingError => ({
  code: 'budget',
  message:
    `${graph.model} on ${graph.input.join('x')} does not fit the budget of ${inWords(budget)}: ` +
    (least === undefined
      ? `${planner} finds no way to run it`
      : `${planner} needs at least ${inWords(least.peakBytes)}, where ${least.largestAtPeak} is the largest tensor`) +
    '; raise --budget or take a smaller input.',
  ...(least === undefined ? {} : { smallestFeasibleBudgetBytes: least.peakBytes })
})

/** The segmentation to run: as given (and checked), or the strategy's best within `budget` bytes. */
export const chooseSegments = (
  search: Search,
  strategy: StrategyName,
  given: Given | undefined,
  budget: number,
  plainPeakBytes: number
): E.Either<StagingError, Candidate> => {
  const { graph } = search.lowering
  const fitting = (planner: string, candidate: Candidate | undefined): E.Either<StagingError, Candidate> =>
    candidate !== undefined && candidate.peakBytes <= budget ? E.right(candidate) : E.left(tooSmall(graph, planner, budget, candidate))
  if (given !== undefined) return fitting('the given plan', lowered(search, given.segments))
  const best = bestWithin(search, strategy, budget)
  return best !== undefined && best.peakBytes <= budget
    ? E.right(best)
    : fitting(`strategy ${strategy}`, smallestOf([best, leanest(search, strategy, plainPeakBytes)]))
}
