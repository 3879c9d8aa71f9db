import { kernelFields as fields } from '../kernel-fields'
import type { KernelRows } from '../kernel-row'

/** Losses and their gradients, and the classes that scores tell. */
export const lossKernels = {
  /**
   * Adds to loss (two float64: summed loss / fullBatch, rows predicted rightly). labels: int32, one
   * a row. A row's loss and gradient are multiplied by its weight (rowWeights [batch]), where
   * weights are given.
   */
  softmaxCrossEntropyForward: {
    fields: fields.crossEntropy,
    operands: { source: 'read', labels: 'read', rowWeights: 'read', loss: 'accumulate' },
    optional: ['rowWeights']
  },
  softmaxCrossEntropyBackward: {
    fields: fields.crossEntropy,
    operands: { source: 'read', labels: 'read', rowWeights: 'read', sourceGradient: 'write' },
    optional: ['rowWeights']
  },
  /**
   * Adds sum (source - target)^2 / count to loss (first of two float64). target: plain, strided, of
   * the Program's precision.
   */
  meanSquaredErrorForward: { fields: fields.squaredError, operands: { source: 'read', target: 'read', loss: 'accumulate' } },
  meanSquaredErrorBackward: { fields: fields.squaredError, operands: { source: 'read', target: 'read', sourceGradient: 'write' } },
  /**
   * labels: int32 [B, fullHeight, fullWidth]; a pixel counts by its class's weight (1 where
   * absent), unless its label is `ignored`. Adds to loss (two float64: sum of weighted losses /
   * normaliser, pixels predicted rightly). normaliser: one float64.
   */
  pixelCrossEntropyForward: {
    fields: fields.pixelCrossEntropy,
    operands: { source: 'read', labels: 'read', classWeights: 'read', normaliser: 'read', loss: 'accumulate' },
    optional: ['classWeights']
  },
  pixelCrossEntropyBackward: {
    fields: fields.pixelCrossEntropy,
    operands: { source: 'read', labels: 'read', classWeights: 'read', normaliser: 'read', sourceGradient: 'write' },
    optional: ['classWeights']
  },
  /**
   * The class of the largest score of each pixel (the first of equals), uint8 [B, fullHeight,
   * fullWidth]; of a single channel 1 where its score is above 0.
   */
  argmaxChannels: { fields: fields.placedTile, operands: { source: 'read', classes: 'write' } },
  /**
   * The losses of scores and classes: labels as pixelCrossEntropyForward's, of rows int32 [B]. An
   * expression of each channel's `input`, the logarithm of its softmax or its score, and `second`,
   * its target, is summed, times its class's weight, over channels and the pixels that count. Adds
   * to loss (two float64: the sum / normaliser, pixels predicted rightly). What an image has is
   * multiplied by its weight (rowWeights [batch]), where weights are given.
   */
  classLossForward: {
    fields: fields.classLoss,
    operands: { source: 'read', labels: 'read', classWeights: 'read', rowWeights: 'read', normaliser: 'read', loss: 'accumulate' },
    optional: ['classWeights', 'rowWeights']
  },
  /**
   * The expression is the gradient of `input`, by `gradient`: the weight / normaliser. Beside it
   * that of the Tversky index, where there are overlaps.
   */
  classLossBackward: {
    fields: fields.classLossBackward,
    operands: {
      source: 'read',
      labels: 'read',
      classWeights: 'read',
      rowWeights: 'read',
      normaliser: 'read',
      overlaps: 'read',
      sourceGradient: 'write'
    },
    optional: ['classWeights', 'rowWeights', 'overlaps']
  },
  /**
   * overlaps: three float64 for each channel of each image, to which are added, over the pixels
   * that count, the probability times the target, the probability, and the target.
   */
  sumOverlaps: {
    fields: fields.probabilities,
    operands: { source: 'read', labels: 'read', overlaps: 'accumulate' }
  },
  /**
   * Adds to loss (first of two float64) scale times the sum over images of the mean over channels,
   * by their weights, of 1 - (I + smooth) / (I + alpha (P - I) + beta (T - I) + smooth), of the
   * overlaps I, P and T; 0 where that divides by 0.
   */
  overlapLoss: {
    fields: fields.overlapLoss,
    operands: { overlaps: 'read', classWeights: 'read', loss: 'accumulate' },
    optional: ['classWeights']
  },
  /**
   * Adds to loss (first of two float64) the sum of an expression of `input`, the source, and
   * `second`, the target, / normaliser; an element whose target is NaN does not count. target:
   * plain, strided, of the Program's precision. Images have weights as classLossForward's.
   */
  valueLossForward: {
    fields: fields.valueLoss,
    operands: { source: 'read', target: 'read', rowWeights: 'read', normaliser: 'read', loss: 'accumulate' },
    optional: ['rowWeights']
  },
  /** The expression is the gradient of `input`, by `gradient`: 1 / normaliser. */
  valueLossBackward: {
    fields: fields.valueLoss,
    operands: { source: 'read', target: 'read', rowWeights: 'read', normaliser: 'read', sourceGradient: 'write' },
    optional: ['rowWeights']
  }
} as const satisfies KernelRows
