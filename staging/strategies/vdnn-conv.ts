import { isConvolutionOp } from '../../dsl/internal'
import type { Strategy } from './strategy'
import { vdnnSwapIntervals } from './vdnn'
import { swappingWhole } from './whole-model'

/**
 * vDNN_conv (Rhu 2016): the inputs of convolutions go out, whatever the memory is, for these take
 * long enough to hide the transfers; those of other layers stay.
 */
export const vdnnConv: Strategy = {
  ...swappingWhole((seen, graph) => [() => vdnnSwapIntervals(graph, seen, isConvolutionOp)]),
  partOf: 'vdnn'
}
