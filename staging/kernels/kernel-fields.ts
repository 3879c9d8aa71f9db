/**
 * What a field may be: a whole number, any number, 0 or 1, a layout's code
 * (staging/kernels/layout.ts), or a list of numbers with its length before it, which is a kernel's
 * last field.
 */
export type FieldType = 'integer' | 'number' | 'flag' | 'layout' | 'numbers'

/** A kernel's fields in order, each with what it may be. */
export type Fields = { readonly [field: string]: FieldType }

const ofType =
  <T extends FieldType>(type: T) =>
  <const N extends readonly string[]>(...names: N) =>
    Object.fromEntries(names.map((name) => [name, type])) as { readonly [F in N[number]]: T }
const [integers, reals, flags, layouts] = [ofType('integer'), ofType('number'), ofType('flag'), ofType('layout')]

const tile = { ...integers('batch', 'channels', 'height', 'width'), ...layouts('layout') }
const stridedTile = { ...tile, ...integers('strideBatch', 'strideChannel', 'strideHeight') }
const channelGroups = { ...tile, ...integers('groups') }
const groupedTile = { ...channelGroups, ...flags('perImage') }
const placedTile = { ...tile, ...integers('fullHeight', 'fullWidth') }
/**
 * Of an expression over a tile: whether `second` is one value an image and channel, and parameters
 * one a channel.
 */
const pointwiseTile = { ...tile, ...flags('broadcast', 'weightPerChannel', 'biasPerChannel') }
const window = integers(
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
)
const resampled = {
  ...integers('batch', 'channels', 'inHeight', 'inWidth', 'outHeight', 'outWidth'),
  ...layouts('layout'),
  ...integers('fullInHeight', 'fullInWidth', 'fullOutHeight', 'fullOutWidth')
}

/**
 * Fields that kernels have in common, in order. The C++ structs that hold them have the same names,
 * and one whose fields begin with another's derives from it.
 */
export const kernelFields = {
  count: integers('count'),
  /** What is not positive is multiplied by `slope`; 1 leaves it. */
  rectifier: { ...integers('count'), ...reals('slope') },
  clipGradient: { ...integers('count'), ...reals('maxNorm') },
  /** `rate` multiplies the step's learning rate. */
  optimizer: { ...integers('count'), ...reals('rate', 'weightDecay') },
  sgd: { ...integers('count'), ...reals('rate', 'weightDecay', 'momentum') },
  adam: { ...integers('count'), ...reals('rate', 'weightDecay', 'beta1', 'beta2', 'epsilon'), ...flags('decoupled') },
  zero: integers('bytes'),
  channelCount: integers('channels'),
  updateRunning: { ...integers('channels'), ...reals('momentum') },
  normaliseParameters: integers('images', 'channels'),
  linear: integers('batch', 'inFeatures', 'outFeatures'),
  crossEntropy: integers('batch', 'classes', 'fullBatch'),
  /**
   * A sliding window over a tile that is padded by exactly these amounts, already clipped to the
   * tensor.
   */
  window,
  pool: { ...window, ...layouts('layout') },
  /**
   * The overhang: rows and columns that ceilMode adds past the padding, a part of padBottom and
   * padRight that is never counted.
   */
  averagePool: { ...window, ...layouts('layout'), ...integers('overhangBottom', 'overhangRight'), ...flags('countPadding') },
  /**
   * Channels count all groups. `algorithm` 0: direct; 1: Winograd's F(4x4, 3x3), whose forward and
   * backward-data read weights in the layouts of that name; 16 + n: what cuDNN's enumeration for
   * this kind of convolution calls n. Every device has 0, the cpu 1 too, cuda those of cuDNN.
   * `slope` as a rectifier's, of forward.
   */
  convolution: {
    ...window,
    ...integers('outChannels', 'groups'),
    ...layouts('sourceLayout', 'destinationLayout', 'weightLayout'),
    ...integers('algorithm'),
    ...reals('slope')
  },
  weightReorder: {
    ...integers('outChannels', 'inChannels', 'kernelHeight', 'kernelWidth', 'groups'),
    ...layouts('sourceLayout', 'destinationLayout')
  },
  activationReorder: { ...integers('batch', 'channels', 'height', 'width'), ...layouts('sourceLayout', 'destinationLayout') },
  tile,
  pointwiseTile,
  /** `expression`: as staging/pointwise/encode.ts writes it. */
  pointwise: { ...pointwiseTile, expression: 'numbers' },
  /**
   * `rows`: 0 sums over all elements, 1 over those of each channel, 2 over those of each image's
   * channels.
   */
  pointwiseSum: { ...pointwiseTile, ...integers('rows'), expression: 'numbers' },
  globalAveragePool: { ...tile, ...reals('scale') },
  dropout: { ...tile, ...integers('fullChannels', 'fullHeight', 'fullWidth', 'layerKey'), ...reals('rate') },
  /** A tile of a plane or of images of the full extents. */
  placedTile,
  pixelCrossEntropy: { ...placedTile, ...integers('ignored') },
  /**
   * Probabilities of scores: softmax's, or where `softmax` is 0 each by a sigmoid. The target of a
   * channel is 1 where the label is its number, of a single one where it is 1, else 0.
   */
  probabilities: { ...placedTile, ...integers('ignored'), ...flags('softmax') },
  classLoss: { ...placedTile, ...integers('ignored'), ...flags('softmax'), expression: 'numbers' },
  classLossBackward: {
    ...placedTile,
    ...integers('ignored'),
    ...flags('softmax'),
    ...reals('alpha', 'beta', 'smooth', 'scale'),
    expression: 'numbers'
  },
  overlapLoss: { ...integers('images', 'channels'), ...reals('alpha', 'beta', 'smooth', 'scale') },
  /** `normalisation`: mean and deviation of each channel in turn. */
  loadImage: { ...placedTile, normalisation: 'numbers' },
  /** Where a tile lies in a plain tensor: strides in elements. */
  stridedTile,
  squaredError: { ...stridedTile, ...integers('count') },
  valueLoss: { ...stridedTile, expression: 'numbers' },
  /** Consecutive channels are a group, and all groups have as many. */
  channelGroups,
  /**
   * A row of statistics is a group of channels, of each image by itself where perImage is 1:
   * batchNorm has groups = channels and perImage 0, instanceNorm groups = channels and perImage 1,
   * groupNorm perImage 1. Rows in order of image, then group.
   */
  groupedTile,
  /** `add` 1 adds to the gradient of the input, of backward. */
  normalise: { ...groupedTile, ...reals('epsilon', 'slope'), ...flags('add') },
  /** Some channels of every pixel, from one tile to another. */
  copyChannels: {
    ...integers('batch', 'height', 'width', 'count', 'sourceChannels', 'sourceFirst'),
    ...layouts('sourceLayout'),
    ...integers('destinationChannels', 'destinationFirst'),
    ...layouts('destinationLayout'),
    ...flags('add')
  },
  /**
   * A tile of input and output of an op that maps absolute coordinates between whole tensors of the
   * full extents.
   */
  resampled,
  resize: { ...resampled, ...flags('bilinear', 'alignCorners') },
  /**
   * `mode` 0 pads with zeros, 1 reflects without the edge, 2 repeats the edge; what is added after
   * follows from the extents.
   */
  pad: { ...resampled, ...integers('padTop', 'padLeft', 'mode') },
  /**
   * A fine tile [batch, channels, height, width] and a coarse one [batch, channels factor^2,
   * coarseHeight, coarseWidth]: fine (c, y, x) is coarse ((c factor + r) factor + s, Y, X), where y
   * + rowsBefore = Y factor + r and x + columnsBefore = X factor + s. From coarse to fine, or where
   * `inverse` is 1 back. What has no counterpart in the other tile is zero.
   */
  pixelShuffle: {
    ...integers('batch', 'channels', 'height', 'width', 'coarseHeight', 'coarseWidth', 'factor', 'rowsBefore', 'columnsBefore'),
    ...layouts('sourceLayout', 'destinationLayout'),
    ...flags('inverse')
  },
  /** A box of n0 x n1 x n2 rows of n3 contiguous elements; strides in elements. */
  copyBox: {
    ...integers(
      'n0',
      'n1',
      'n2',
      'n3',
      'sourceStride0',
      'sourceStride1',
      'sourceStride2',
      'destinationStride0',
      'destinationStride1',
      'destinationStride2'
    ),
    ...flags('add', 'ofParameters')
  }
} as const satisfies { readonly [name: string]: Fields }

/** A struct's last field, where a kernel does not have it. */
export const absentFields = { slope: 1, add: false }
