import type { Op } from '../../../dsl'
import type { Node } from '../../graph'
import { gelu, sigmoid, silu, tanh } from './activations'
import { conv2d } from './convolution'
import { flatten, linear } from './dense'
import { add, concat } from './joins'
import { meanSquaredError, softmaxCrossEntropy } from './losses'
import { pad, pixelShuffle, pixelUnshuffle } from './movement'
import { batchNorm, groupNorm, instanceNorm } from './normalisations'
import type { OpLowering } from './op-lowering'
import { pixelCrossEntropy } from './pixel-loss'
import { dropout, leakyRelu, relu } from './pointwise'
import { avgPool2d, globalAvgPool, globalMaxPool, maxPool2d } from './pooling'
import { adaptiveAvgPool2d, resize } from './resampling'
import { convTranspose2d } from './transposed-convolution'

/** Kernels, gradients and layouts: one row an op; an op without a row does not compile. */
const opLowerings: { readonly [P in Op]: OpLowering<P> } = {
  conv2d,
  convTranspose2d,
  batchNorm,
  groupNorm,
  instanceNorm,
  sigmoid,
  tanh,
  silu,
  gelu,
  resize,
  adaptiveAvgPool2d,
  pixelShuffle,
  pixelUnshuffle,
  pad,
  add,
  concat,
  pixelCrossEntropy,
  relu,
  leakyRelu,
  maxPool2d,
  avgPool2d,
  globalAvgPool,
  globalMaxPool,
  flatten,
  linear,
  dropout,
  softmaxCrossEntropy,
  meanSquaredError
}

/** What staging declares of an op, its own type forgotten. */
export const recordOf = (op: Op): OpLowering<Op> => opLowerings[op] as unknown as OpLowering<Op>

/** The row of a node, its own type forgotten: a node is only ever handed to its own row. */
export const loweringOf = (node: Node): OpLowering<Op> => recordOf(node.op)
