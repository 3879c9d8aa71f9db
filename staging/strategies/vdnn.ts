import { isConvolutionOp, type Op } from '../../dsl/internal'
import type { Timeline } from '../lowering/cost/timeline'
import type { StageInterval } from './swap-intervals'
import type { Strategy } from './strategy'
import { swappingWhole } from './whole-model'

/** The ops of a graph, in their order. */
export interface GraphOps {
  readonly nodes: readonly { readonly op: Op }[]
}

/** The op that runs in a stage, forward or backward. */
export const findStageOp = ({ nodes }: GraphOps, { stages }: Timeline, stage: number): Op => {
  const { timepoint } = stages[stage]!
  return nodes[timepoint < nodes.length ? timepoint : 2 * nodes.length - 1 - timepoint]!.op
}

/**
 * vDNN (Rhu 2016, the baseline of Yang 2020): a layer's input goes out while the layer runs, and
 * the next layer waits for that. In backward each layer starts one swap-in, of the nearest layer
 * that misses something, no further ahead than the next convolution (their findPrefetchLayer).
 */
export const vdnnSwapIntervals = (graph: GraphOps, timeline: Timeline, offloads: (op: Op) => boolean): readonly StageInterval[] => {
  const isConvolution = (stage: number): boolean => isConvolutionOp(findStageOp(graph, timeline, stage))
  const offloaded = timeline.tensors.filter(
    ({ forward, backward }) => forward + 1 < backward && offloads(findStageOp(graph, timeline, forward))
  )
  const started = new Map<(typeof offloaded)[number], number>()
  for (let stage = timeline.backwardStart; stage < timeline.stages.length; stage++)
    for (let ahead = stage + 1; ahead < timeline.stages.length; ahead++) {
      const missing = offloaded.find((tensor) => tensor.backward === ahead && !started.has(tensor))
      if (missing !== undefined) started.set(missing, stage)
      if (missing !== undefined || isConvolution(ahead)) break
    }
  return offloaded.map((tensor) => {
    const freed = tensor.forward + 1
    return {
      tensor,
      swapOut: Math.max(tensor.written + 1, tensor.forward),
      freed,
      swapIn: Math.max(freed, started.get(tensor) ?? tensor.backward)
    }
  })
}

/**
 * The dynamic policy (Yang 2020, section 4.1): of nothing where that fits, of the convolutions'
 * inputs alone (vDNN_conv), or of all (vDNN_all).
 */
export const vdnn: Strategy = swappingWhole((seen, graph) =>
  [() => false, isConvolutionOp, () => true].map((offloads) => () => vdnnSwapIntervals(graph, seen, offloads))
)
