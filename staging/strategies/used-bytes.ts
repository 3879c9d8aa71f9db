import { memoizePerObject } from '../memoize'
import type { SwappableTensor, Timeline } from '../lowering/cost/timeline'

/** Stages that use a tensor lie next to each other, in forward and in backward. */
const isUsed = ({ from, forward, backward, to }: SwappableTensor, stage: number): boolean =>
  (from <= stage && stage <= forward) || (backward <= stage && stage <= to)

/** Bytes that each stage cannot do without, all that persists included. */
export const usedBytes = memoizePerObject(
  () => 0,
  ({ stages, tensors }: Timeline): readonly number[] =>
    stages.map(({ bytes }, stage) => tensors.reduce((sum, tensor) => sum + (isUsed(tensor, stage) ? tensor.bytes : 0), bytes))
)
