import { type DeviceModel, type StageRequest, type Staged, stage } from '../staging'
import { planningDevice } from '../staging/devices/algorithms'
import { buildGraph, createStepGraph } from '../staging/ops/build-graph'
import type { Graph } from '../staging/graph/graph'
import type { StepGraph } from '../staging/graph/step-graph'
import { lower, type Lowered } from '../staging/lowering'
import { sourceOrder, inOrder } from '../staging/graph/order'
import type { Segment } from '../staging/plans/plan'
import { tileCount, untiled, type Grid, type Span } from '../staging/graph/span'
import { createPlanSearches } from '../staging/search'
import { candidateGrids } from '../staging/strategies/grids'
import { wholeGraph } from '../staging/strategies/plain'
import { segmentMultiplyAdds, segmentTiling } from '../staging/graph/tiling'
import { must } from './must'

/** The best plan with a grid for the segment that is looked at. */
export interface GridPlan {
  readonly grid: Grid
  readonly staged: Staged
}

interface GridPlans {
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
const asking = (graph: StepGraph, { from, to }: Span, grid: Grid): StepGraph => ({
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
const betterReordered = (graph: StepGraph, device: DeviceModel, lowered: Lowered, { from }: Span, budget: number): Lowered => {
  const { order, segments } = lowered.plan
  const reordered = segments.map((one): Segment => (one.from === from ? { ...one, reorder: 'each-tile' } : one))
  const other = lower(graph, { order, segments: reordered }, device)
  return other.peakBytes() <= budget && other.milliseconds() < lowered.milliseconds() ? other : lowered
}

/**
 * The plan of strategy sft within the request's budget, and for every other grid that the search
 * considers for its largest tiled segment the best plan with that grid, as long as it is predicted
 * to take at most `within` times as long. Undefined where nothing is tiled.
 */
export const plansByGrid = (request: StageRequest & { readonly input: readonly number[] }, within: number): GridPlans | undefined => {
  const { model, input, objective, source } = request
  const staged = must(stage(request))
  const { predicted, budget = Infinity } = staged
  const { order, segments } = staged.plan
  const graph = createStepGraph(must(buildGraph(model, input)), objective, source)
  const ordered = inOrder(graph, order)
  const segment = largestTiled(ordered, segments)
  if (segment === undefined) return undefined
  const device = planningDevice(request.device, request.exactKernels)
  const plain = lower(graph, { order: sourceOrder(graph), segments: wholeGraph(graph) }, device)
  const isChosen = ({ B, H, W }: Grid): boolean => B === segment.grid.B && H === segment.grid.H && W === segment.grid.W
  const others = candidateGrids(ordered, segment, false)
    .filter((grid) => !isChosen(grid))
    .flatMap((grid) => {
      const answer = createPlanSearches(asking(graph, segment, grid), device, plain)
        .by('sft')
        .within(budget)
      return answer === undefined ? [] : [{ grid, best: betterReordered(graph, device, answer, segment, budget) }]
    })
    .filter(({ best }) => best.milliseconds() <= within * predicted.stepMilliseconds)
    .sort((a, b) => a.best.milliseconds() - b.best.milliseconds())
    .map(({ grid, best }) => ({ grid, staged: must(stage({ ...request, given: best.plan })) }))
  return { segment, chosen: { grid: segment.grid, staged }, others }
}
