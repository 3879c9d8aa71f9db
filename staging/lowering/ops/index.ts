import type { Op } from '../../../dsl'
import type { Node } from '../../graph'
import { conv2d } from './convolution'
import { flatten, linear } from './dense'
import { meanSquaredError, softmaxCrossEntropy } from './losses'
import type { OpLowering } from './op-lowering'
import { dropout, leakyRelu, relu } from './pointwise'
import { avgPool2d, globalAvgPool, maxPool2d } from './pooling'

/** Kernels, gradients and layouts: one row an op; an op without a row does not compile. */
const opLowerings: { readonly [P in Op]: OpLowering<P> } = {
  conv2d,
  relu,
  leakyRelu,
  maxPool2d,
  avgPool2d,
  globalAvgPool,
  flatten,
  linear,
  dropout,
  softmaxCrossEntropy,
  meanSquaredError
}

/** The row of a node, its own type forgotten: a node is only ever handed to its own row. */
export const loweringOf = (node: Node): OpLowering<Op> => opLowerings[node.op] as unknown as OpLowering<Op>
