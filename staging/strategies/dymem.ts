import type { Graph } from '../graph'
import type { Timeline } from '../lowering/timeline'
import { freedWhenNeeded, targets, type Stay } from './host-stays'
import type { Strategy } from './strategy'
import { layerOf } from './vdnn'
import { swappingWhole } from './whole-model'

/**
 * Paper 003's Algorithm 2: while a layer runs backward, what the layers after it miss is swapped in, up to the second convolution; the
 * layer itself counts where it is one. Gives for each stage the last one whose tensors it fetches.
 */
const fetchedUpTo = (graph: Graph, timeline: Timeline): readonly number[] => {
  const isConvolution = (stage: number): boolean => layerOf(graph, timeline, stage).op === 'conv2d'
  return timeline.stages.map((_, stage) => {
    let [convolutions, last] = [isConvolution(stage) ? 1 : 0, stage]
    for (let next = stage + 1; next < timeline.stages.length; next++) {
      if (isConvolution(next) && ++convolutions > 2) break
      last = next
    }
    return last
  })
}

/**
 * Dymem's transfers (paper 003, section 3.2): everything goes out, while layers read it, without a barrier; a layer waits for the oldest
 * only where more than `target` bytes would be live, and what is still in flight at the end of forward is then waited for.
 */
export const dymemStays = (graph: Graph, timeline: Timeline, target: number): readonly Stay[] => {
  const upTo = fetchedUpTo(graph, timeline)
  const open = timeline.tensors
    .filter(({ forward, backward }) => forward + 1 < backward)
    .map((tensor) => {
      const started = upTo.findIndex((last, stage) => stage >= timeline.turn && last >= tensor.backward)
      return { tensor, swapOut: Math.max(tensor.written + 1, tensor.forward), swapIn: Math.max(started, tensor.forward + 1) }
    })
  const needed = freedWhenNeeded(timeline, open, target)
  const others = open.filter(({ tensor, swapIn }) => swapIn > timeline.turn && !needed.some((stay) => stay.tensor === tensor))
  return [...needed, ...others.map((stay): Stay => ({ ...stay, freed: timeline.turn }))]
}

const targetCount = 48

export const dymem: Strategy = swappingWhole((seen, graph) => targets(seen, targetCount).map((target) => dymemStays(graph, seen, target)))
