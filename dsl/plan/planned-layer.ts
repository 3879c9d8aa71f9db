import type { Op, OpArguments } from '../arguments'

/** An op of the flattened model, the loss that training appends included. */
export interface PlannedLayer {
  readonly name: string
  readonly op: Op
  readonly args: OpArguments[Op]
  /** Tensors: 0 is the net's input, k the output of the k-th op. */
  readonly inputs: readonly number[]
}
