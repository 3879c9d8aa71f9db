/**
 * What a field may be: a whole number, any number, 0 or 1, a layout's code
 * (staging/kernels/layout.ts), or a list of numbers with its length before it, which is a kernel's
 * last field.
 */
export type FieldType = 'integer' | 'number' | 'flag' | 'layout' | 'numbers'

const numbers = ['slope', 'scale', 'rate', 'weightDecay', 'momentum', 'beta1', 'beta2', 'epsilon', 'maxNorm']
const flags = [
  'perImage',
  'countPadding',
  'bilinear',
  'alignCorners',
  'add',
  'inverse',
  'ofParameters',
  'decoupled',
  'broadcast',
  'weightPerChannel',
  'biasPerChannel'
]

export const fieldType = (field: string): FieldType =>
  field === 'expression'
    ? 'numbers'
    : numbers.includes(field) || /^(mean|deviation)\d$/.test(field)
      ? 'number'
      : flags.includes(field)
        ? 'flag'
        : /^(l|.+L)ayout$/.test(field)
          ? 'layout'
          : 'integer'

const tile = ['batch', 'channels', 'height', 'width', 'layout'] as const
const stridedTile = [...tile, 'strideBatch', 'strideChannel', 'strideHeight'] as const
const channelGroups = [...tile, 'groups'] as const
const groupedTile = [...channelGroups, 'perImage'] as const
const placedTile = [...tile, 'fullHeight', 'fullWidth'] as const
/**
 * Of an expression over a tile: whether `second` is one value an image and channel, and parameters
 * one a channel.
 */
const pointwiseTile = [...tile, 'broadcast', 'weightPerChannel', 'biasPerChannel'] as const
const window = [
  'batch',
  'inChannels',
  'inHeight',
  'inWidth',
  'outHeight',
  'outWidth',
  'kernelHeight',
  'kernelWidth',
  'strideHeight',
  'strideWidth',
  'dilationHeight',
  'dilationWidth',
  'padTop',
  'padBottom',
  'padLeft',
  'padRight'
] as const
const resampled = [
  'batch',
  'channels',
  'inHeight',
  'inWidth',
  'outHeight',
  'outWidth',
  'layout',
  'fullInHeight',
  'fullInWidth',
  'fullOutHeight',
  'fullOutWidth'
] as const

/**
 * Fields that kernels have in common, in order. The C++ structs that hold them have the same names,
 * and one whose fields begin with another's derives from it.
 */
export const kernelFields = {
  count: ['count'],
  /** What is not positive is multiplied by `slope`; 1 leaves it. */
  rectifier: ['count', 'slope'],
  clipGradient: ['count', 'maxNorm'],
  /** `rate` multiplies the step's learning rate. */
  optimizer: ['count', 'rate', 'weightDecay'],
  sgd: ['count', 'rate', 'weightDecay', 'momentum'],
  adam: ['count', 'rate', 'weightDecay', 'beta1', 'beta2', 'epsilon', 'decoupled'],
  zero: ['bytes'],
  channelCount: ['channels'],
  updateRunning: ['channels', 'momentum'],
  normaliseParameters: ['images', 'channels'],
  linear: ['batch', 'inFeatures', 'outFeatures'],
  crossEntropy: ['batch', 'classes', 'fullBatch'],
  /**
   * A sliding window over a tile that is padded by exactly these amounts, already clipped to the
   * tensor.
   */
  window,
  pool: [...window, 'layout'],
  /**
   * The overhang: rows and columns that ceilMode adds past the padding, a part of padBottom and
   * padRight that is never counted.
   */
  averagePool: [...window, 'layout', 'overhangBottom', 'overhangRight', 'countPadding'],
  /**
   * Channels count all groups. `algorithm` 0: direct; 1: Winograd's F(4x4, 3x3), whose forward and
   * backward-data read weights in the layouts of that name; 16 + n: what cuDNN's enumeration for
   * this kind of convolution calls n. Every device has 0, the cpu 1 too, cuda those of cuDNN.
   * `slope` as a rectifier's, of forward.
   */
  convolution: [...window, 'outChannels', 'groups', 'sourceLayout', 'destinationLayout', 'weightLayout', 'algorithm', 'slope'],
  weightReorder: ['outChannels', 'inChannels', 'kernelHeight', 'kernelWidth', 'groups', 'sourceLayout', 'destinationLayout'],
  activationReorder: ['batch', 'channels', 'height', 'width', 'sourceLayout', 'destinationLayout'],
  tile,
  pointwiseTile,
  /** `expression`: as staging/pointwise/encode.ts writes it. */
  pointwise: [...pointwiseTile, 'expression'],
  /**
   * `rows`: 0 sums over all elements, 1 over those of each channel, 2 over those of each image's
   * channels.
   */
  pointwiseSum: [...pointwiseTile, 'rows', 'expression'],
  globalAveragePool: [...tile, 'scale'],
  dropout: [...tile, 'fullChannels', 'fullHeight', 'fullWidth', 'layerKey', 'rate'],
  /** A tile of a plane or of images of the full extents. */
  placedTile,
  pixelCrossEntropy: [...placedTile, 'ignored'],
  loadImage: [...placedTile, 'mean0', 'mean1', 'mean2', 'mean3', 'deviation0', 'deviation1', 'deviation2', 'deviation3'],
  /** Where a tile lies in a plain tensor: strides in elements. */
  stridedTile,
  squaredError: [...stridedTile, 'count'],
  /** Consecutive channels are a group, and all groups have as many. */
  channelGroups,
  /**
   * A row of statistics is a group of channels, of each image by itself where perImage is 1:
   * batchNorm has groups = channels and perImage 0, instanceNorm groups = channels and perImage 1,
   * groupNorm perImage 1. Rows in order of image, then group.
   */
  groupedTile,
  /** `add` 1 adds to the gradient of the input, of backward. */
  normalise: [...groupedTile, 'epsilon', 'slope', 'add'],
  /** Some channels of every pixel, from one tile to another. */
  copyChannels: [
    'batch',
    'height',
    'width',
    'count',
    'sourceChannels',
    'sourceFirst',
    'sourceLayout',
    'destinationChannels',
    'destinationFirst',
    'destinationLayout',
    'add'
  ],
  /**
   * A tile of input and output of an op that maps absolute coordinates between whole tensors of the
   * full extents.
   */
  resampled,
  resize: [...resampled, 'bilinear', 'alignCorners'],
  /**
   * `mode` 0 pads with zeros, 1 reflects without the edge, 2 repeats the edge; what is added after
   * follows from the extents.
   */
  pad: [...resampled, 'padTop', 'padLeft', 'mode'],
  /**
   * A fine tile [batch, channels, height, width] and a coarse one [batch, channels factor^2,
   * coarseHeight, coarseWidth]: fine (c, y, x) is coarse ((c factor + r) factor + s, Y, X), where y
   * + rowsBefore = Y factor + r and x + columnsBefore = X factor + s. From coarse to fine, or where
   * `inverse` is 1 back. What has no counterpart in the other tile is zero.
   */
  pixelShuffle: [
    'batch',
    'channels',
    'height',
    'width',
    'coarseHeight',
    'coarseWidth',
    'factor',
    'rowsBefore',
    'columnsBefore',
    'sourceLayout',
    'destinationLayout',
    'inverse'
  ],
  /** A box of n0 x n1 x n2 rows of n3 contiguous elements; strides in elements. */
  copyBox: [
    'n0',
    'n1',
    'n2',
    'n3',
    'sourceStride0',
    'sourceStride1',
    'sourceStride2',
    'destinationStride0',
    'destinationStride1',
    'destinationStride2',
    'add',
    'ofParameters'
  ]
} as const

/** A struct's last field, where a kernel does not have it. */
export const absentFields = { slope: 1, add: false } as const
