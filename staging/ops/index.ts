import type { Op } from '../../dsl/internal'
import type { Node } from '../graph/graph'
import type { DeviceModel } from '../devices/device-model'
import type { Kernel } from '../kernels/kernels'
import type { Layout } from '../kernels/layout'
import type { WeightForms } from '../lowering/scope/parameters'
import { classLoss, overlapLoss, pixelLoss } from './class-losses'
import { conv2d } from './convolution'
import { flatten, linear } from './linear'
import { add, concat, mul } from './joins'
import { meanSquaredError, softmaxCrossEntropy } from './losses'
import { channelShuffle, narrow, pad, pixelShuffle, pixelUnshuffle } from './movement'
import { batchNorm, groupNorm, instanceNorm } from './normalisations'
import type { OpLowering } from './op-lowering'
import type { OpStep, StepGeometry, StepGradients } from '../lowering/scope/op-step'
import type { TileScope } from '../lowering/scope/scope'
import { pixelCrossEntropy } from './pixel-loss'
import { dropout, leakyRelu, relu } from './elementwise'
import { pointwise } from './pointwise'
import { avgPool2d, globalAvgPool, globalMaxPool, maxPool2d } from './pooling'
import { adaptiveAvgPool2d, resize } from './resampling'
import { convTranspose2d } from './transposed-convolution'
import { valueLoss } from './value-loss'

/** Kernels, gradients and layouts: one row an op; an op without a row does not compile. */
const opLowerings: { readonly [P in Op]: OpLowering<P> } = {
  conv2d,
  convTranspose2d,
  batchNorm,
  groupNorm,
  instanceNorm,
  pointwise,
  resize,
  adaptiveAvgPool2d,
  pixelShuffle,
  pixelUnshuffle,
  channelShuffle,
  narrow,
  pad,
  add,
  mul,
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
  meanSquaredError,
  classLoss,
  pixelLoss,
  overlapLoss,
  valueLoss
}

/** What staging declares of an op, its own type forgotten. */
export const getOpLowering = (op: Op): OpLowering<Op> => opLowerings[op] as OpLowering<Op>

/** The row of a node, its own type forgotten: a node is only ever handed to its own row. */
export const getNodeLowering = (node: Node): OpLowering<Op> => {
  const record = getOpLowering(node.op)
  return record.variant?.(node) ?? record
}

/** Tells whether an op joins its inputs along their channels. */
export const joinsChannels = (node: Node): boolean => getNodeLowering(node).joinsChannels === true

/** How a node's weights are stored. */
export const getWeightForms = (device: DeviceModel, node: Node, source: Layout): WeightForms =>
  getNodeLowering(node).weightForms?.(device, node, source) ?? plainWeights

const plainWeights: WeightForms = {
  stored: 'plain',
  forward: 'plain',
  backwardData: 'plain',
  transformed: undefined,
  storedForWinograd: [],
  normalisable: false,
  groups: 1
}

/** Whether an op draws random numbers, by its position. */
export const isRandom = (node: Node): boolean => getOpLowering(node.op).withoutRandomness !== undefined

/** Emits an op forward. */
export const runForward = (scope: TileScope, step: OpStep): void => getNodeLowering(step.node).forward(scope, step)

/** The kernel whose indices an op writes forward; undefined where it writes none. */
export const makeIndicesKernel = (step: StepGeometry): Kernel | undefined => getNodeLowering(step.node).indicesKernel?.(step)

/** Emits the backward of an op that has one of its own. */
export const runBackward = (scope: TileScope, step: OpStep, gradients: StepGradients): void => {
  const { backward } = getNodeLowering(step.node)
  if (typeof backward === 'function') backward(scope, step, gradients)
}
