import { lazy } from '../memoize'
import { isConvolutionOp, type Op } from '../../dsl/internal'
import { unlimitedBytes } from '../lowering/scope/workspace'
import type { Graph } from '../graph/graph'
import type { Timeline } from '../lowering/cost/timeline'
import { depthFirst } from '../graph/order'
import { workspacesWithin } from './free-workspace'
import {
  freedAt,
  freeWhenNeeded,
  occupancy,
  targets,
  withSchedules,
  withSwapIntervals,
  type LazySwapSchedule,
  type StageInterval
} from './swap-intervals'
import { wholeGraph } from './plain'
import type { ScheduledSegmentation, Search, Segmentation, Strategy } from './strategy'
import { findStageOp, type GraphOps } from './vdnn'

/**
 * Yang 2020's Algorithm 2: while a layer runs backward, what the layers after it miss is swapped
 * in, up to the second convolution; the layer itself counts where it is one. Gives for each stage
 * the last one whose tensors it fetches. (As printed the loop passes over a third convolution;
 * section 3.2.2 keeps what is fetched near.)
 */
const fetchedUpTo = (graph: GraphOps, timeline: Timeline): readonly number[] => {
  const isConvolution = (stage: number): boolean => isConvolutionOp(findStageOp(graph, timeline, stage))
  return timeline.stages.map((_, stage) => {
    let [convolutions, last] = [isConvolution(stage) ? 1 : 0, stage]
    for (let next = stage + 1; next < timeline.stages.length; next++) {
      if (isConvolution(next) && ++convolutions > 2) break
      last = next
    }
    return last
  })
}

/** Layers whose inputs are never offloaded: small, and "reclaimed" in Algorithm 3. */
const reclaimed: readonly Op[] = ['linear', 'dropout', 'softmaxCrossEntropy', 'pixelCrossEntropy']

/**
 * Dymem's transfers (Yang 2020, section 3.2), whatever the memory: what layers read goes out while
 * the last of them runs, without a barrier. A layer waits for the oldest only where more than
 * `target` bytes would be live, and what is still in flight at the end of forward is then waited
 * for.
 */
export const dymemSwapIntervals = (graph: GraphOps, timeline: Timeline, target: number): readonly StageInterval[] => {
  const upTo = fetchedUpTo(graph, timeline)
  const open = timeline.tensors
    .filter(({ forward, backward }) => forward + 1 < backward && !reclaimed.includes(findStageOp(graph, timeline, forward)))
    .map((tensor) => {
      const started = upTo.findIndex((last, stage) => stage >= timeline.backwardStart && last >= tensor.backward)
      return { tensor, swapOut: Math.max(tensor.written + 1, tensor.forward), swapIn: Math.max(started, tensor.forward + 1) }
    })
  const needed = new Map(freeWhenNeeded(timeline, open, target).map(({ tensor, freed }) => [tensor, freed]))
  return open.flatMap((interval): readonly StageInterval[] => {
    const freed = Math.min(needed.get(interval.tensor) ?? timeline.backwardStart, timeline.backwardStart)
    // What is fetched as soon as backward begins does not go before.
    return freed < interval.swapIn ? [freedAt(interval, freed)] : []
  })
}

const targetCount = 48

const schedulesWithin =
  (graph: Graph, bytes: readonly number[]) =>
  (seen: Timeline): readonly LazySwapSchedule[] =>
    bytes.map((target) => () => dymemSwapIntervals(graph, seen, target))

/** The layer's least of what is free where it runs, forward and backward. */
const minFree = ({ stages }: Timeline, nodes: number, free: readonly number[]): ((position: number) => number) => {
  const least = new Array<number>(nodes).fill(Infinity)
  stages.forEach(({ timepoint }, stage) => {
    const position = timepoint < nodes ? timepoint : 2 * nodes - 1 - timepoint
    least[position] = Math.min(least[position]!, free[stage]!)
  })
  return (position) => least[position]!
}

/**
 * Section 4.2: what layers need comes first, and each convolution's workspace grows by what is free
 * then. What is still in flight takes none of that, for a layer waits where its bytes are needed.
 */
const withFreeWorkspace = (search: Search): readonly ScheduledSegmentation[] => {
  const { graph, device, timeline } = search
  const [none, most] = [0, unlimitedBytes].map((workspace) => timeline(wholeGraph(graph).map((segment) => ({ ...segment, workspace }))))
  const segmentsWithin = workspacesWithin(graph, device)
  const found = new Map<string, { readonly segments: Segmentation; readonly bytes: number[] }>()
  const live = occupancy(none!, dymemSwapIntervals(graph, none!, 0))
  for (const target of [none!, most!].flatMap((seen) => targets(seen, targetCount / 2))) {
    const free = live.map((bytes) => target - bytes)
    const segments = segmentsWithin(minFree(none!, graph.nodes.length, free))
    const key = segments.map(({ to, workspace }) => `${to} ${workspace}`).join()
    const same = found.get(key) ?? { segments, bytes: [] }
    found.set(key, same)
    same.bytes.push(target)
  }
  return [...found.values()].map(({ segments, bytes }) => withSchedules(search, segments, schedulesWithin(graph, bytes)))
}

/** Besides, one limit for all layers, which takes no boundaries between segments. */
export const dymem: Strategy = {
  obeysDirectives: false,
  order: depthFirst,
  kind: 'swapping',
  groups: (search) => {
    const { graph, device } = search
    const scheduled = lazy(() => {
      const whole = withSwapIntervals(search, wholeGraph(graph), (seen) => schedulesWithin(graph, targets(seen, targetCount))(seen))
      return device.algorithms === undefined ? whole : [...withFreeWorkspace(search), ...whole]
    })
    return [{ target: undefined, scheduled }]
  }
}
