import { shapeRules, type Op } from '../../dsl/internal'
import type { ShapeRules } from '../../dsl/ops'

const { linear, ...rest } = shapeRules
export const dropped = linear

// expects: Property 'linear' is missing
export const rules: typeof shapeRules = rest

// expects: Property 'meanSquaredError' is missing
export const kernels: { readonly [P in Op]: string } = {
  conv2d: 'convolution',
  relu: 'rectifier',
  leakyRelu: 'rectifier',
  maxPool2d: 'maxPool',
  avgPool2d: 'averagePool',
  globalAvgPool: 'sumPixels',
  globalMaxPool: 'globalMaxPool',
  flatten: 'reorder',
  linear: 'linear',
  dropout: 'dropout',
  convTranspose2d: 'transposedConvolution',
  batchNorm: 'normalise',
  groupNorm: 'normalise',
  instanceNorm: 'normalise',
  pointwise: 'pointwise',
  resize: 'resize',
  adaptiveAvgPool2d: 'adaptivePool',
  pixelShuffle: 'pixelShuffle',
  pixelUnshuffle: 'pixelShuffle',
  channelShuffle: 'channelShuffle',
  narrow: 'shiftChannels',
  pad: 'pad',
  add: 'add',
  mul: 'pointwise',
  concat: 'copyChannels',
  softmaxCrossEntropy: 'softmaxCrossEntropy',
  pixelCrossEntropy: 'pixelCrossEntropy',
  classLoss: 'classLoss',
  pixelLoss: 'classLoss',
  overlapLoss: 'classLoss',
  valueLoss: 'valueLoss'
}

// expects: Property 'upsample' does not exist
export type Upsampled = ShapeRules<readonly [1, 3, 8, 8], {}, readonly [], readonly []>['upsample']
