import { type StageRequest, type Staged, stage } from '../staging'
import { withExactKernels, withFastestFirst } from '../staging/devices/algorithms'
import { buildGraph } from '../staging/ops/build-graph'
import type { Graph } from '../staging/graph/graph'
import type { Lowering } from '../staging/lowering/segment/create-scope'
import { sourceOrder, inOrder } from '../staging/graph/order'
import { createPlan, type Segment } from '../staging/plans/plan'
import { tileCount, untiled, type Grid, type Span } from '../staging/graph/span'
import { type Candidate, createCandidate, createPlanSearches } from '../staging/search'
import { candidateGrids } from '../staging/strategies/grids'
import { wholeGraph } from '../staging/strategies/plain'
import { segmentMultiplyAdds, segmentTiling } from '../staging/graph/tiling'
import { must } from './request'

/** The best plan with a grid for the segment that is looked at. */
export interface GridPlan {
  readonly grid: Grid
  readonly staged: Staged
}

export interface GridPlans {
  /** The segment of the chosen plan, its positions in the order in which it runs. */
  readonly segment: Segment
  readonly chosen: GridPlan
  /** With other grids, the fastest by prediction first. */
  readonly others: readonly GridPlan[]
}

/** The tiled segment that computes the most; undefined where the plan has no tiles. */
const largestTiled = (graph: Graph, segments: readonly Segment[]): Segment | undefined => {
  const work = (span: Span): number => segmentMultiplyAdds(graph, span, segmentTiling(graph, span, untiled)!)
  const tiled = segments.filter(({ grid }) => tileCount(grid) > 1)
  return tiled.length === 0 ? undefined : tiled.reduce((most, one) => (work(one) > work(most) ? one : most))
}

/** The graph that asks for a segment and its tiles as a model's `checkpoint` and `tile` do. */
const asking = (graph: Graph, { from, to }: Span, grid: Grid): Graph => ({
  ...graph,
  directives: [
    ...[from, to].filter((at) => at > 0 && at < graph.nodes.length).map((at) => ({ kind: 'checkpoint' as const, at })),
    { kind: 'tile', at: from, grid }
  ]
})

/**
 * The candidate, or the same with weights reordered by each tile for itself, where that fits and is
 * faster.
 */
const betterReordered = (lowering: Lowering, candidate: Candidate, { from }: Span, budget: number): Candidate => {
  const segments = candidate.segments.map((one): Segment => (one.from === from ? { ...one, reorder: 'each-tile' } : one))
  const other = createCandidate(lowering, createPlan(candidate.order, segments))
  return other.peakBytes() <= budget && other.milliseconds() < candidate.milliseconds() ? other : candidate
}

/**
 * The plan of strategy sft within the request's budget, and for every other grid that the search
 * considers for its largest tiled segment the best plan with that grid, as long as it is predicted
 * to take at most `within` times as long. Undefined where nothing is tiled.
 */
export const plansByGrid = (request: StageRequest & { readonly input: readonly number[] }, within: number): GridPlans | undefined => {
  const { model, input, device, objective, source, exactKernels } = request
  const staged = must(stage(request))
  const { order, segments, predicted } = staged.plan
  const budget = staged.plan.budget ?? Infinity
  const graph = must(buildGraph(model, input))
  const ordered = inOrder(graph, order)
  const segment = largestTiled(ordered, segments)
  if (segment === undefined) return undefined
  const lowering: Lowering = { graph, device: withFastestFirst(exactKernels ? withExactKernels(device) : device), objective, source }
  const plain = createCandidate(lowering, createPlan(sourceOrder(graph), wholeGraph(graph)))
  const isChosen = ({ B, H, W }: Grid): boolean => B === segment.grid.B && H === segment.grid.H && W === segment.grid.W
  const others = candidateGrids(ordered, segment, false)
    .filter((grid) => !isChosen(grid))
    .flatMap((grid) => {
      const answer = createPlanSearches({ ...lowering, graph: asking(graph, segment, grid) }, plain)
        .by('sft')
        .within(budget)
      return answer === undefined ? [] : [{ grid, best: betterReordered(lowering, answer, segment, budget) }]
    })
    .filter(({ best }) => best.milliseconds() <= within * predicted.stepMilliseconds)
    .sort((a, b) => a.best.milliseconds() - b.best.milliseconds())
    .map(({ grid, best: { order, segments } }) => ({ grid, staged: must(stage({ ...request, given: { order, segments } })) }))
  return { segment, chosen: { grid: segment.grid, staged }, others }
}
