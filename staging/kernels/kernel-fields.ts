/**
 * What a field may be: a whole number, any number, 0 or 1, a layout's code
 * (staging/kernels/layout.ts), or a list of numbers with its length before it, which is a kernel's
 * last field. A `size` is a whole number that says only how much there is to do, where it lies, or
 * what is drawn, and a `multiplier` a number that only multiplies: kernels that agree in all other
 * fields run at about the same rate (kernel-configuration.ts).
 */
export type FieldType = 'integer' | 'size' | 'number' | 'multiplier' | 'flag' | 'layout' | 'numbers'

/** A kernel's fields in order, each with what it may be. */
export type Fields = { readonly [field: string]: FieldType }

const ofType =
  <T extends FieldType>(type: T) =>
  <const N extends readonly string[]>(...names: N) =>
    Object.fromEntries(names.map((name) => [name, type])) as { readonly [F in N[number]]: T }
const [integers, sizes, reals, multipliers] = [ofType('integer'), ofType('size'), ofType('number'), ofType('multiplier')]
const [flags, layouts] = [ofType('flag'), ofType('layout')]

const tile = { ...sizes('batch'), ...integers('channels'), ...sizes('height', 'width'), ...layouts('layout') }
const stridedTile = { ...tile, ...sizes('strideBatch', 'strideChannel', 'strideHeight') }
const channelGroups = { ...tile, ...integers('groups') }
const groupedTile = { ...channelGroups, ...flags('perImage') }
const placedTile = { ...tile, ...sizes('fullHeight', 'fullWidth') }
/**
 * Fields of an expression over a tile: whether `second` is one value an image and channel, and
 * parameters one a channel.
 */
const pointwiseTile = { ...tile, ...flags('broadcast', 'weightPerChannel', 'biasPerChannel') }
const window = {
  ...sizes('batch'),
  ...integers('inChannels'),
  ...sizes('inHeight', 'inWidth', 'outHeight', 'outWidth'),
  ...integers('kernelHeight', 'kernelWidth', 'strideHeight', 'strideWidth', 'dilationHeight', 'dilationWidth'),
  ...sizes('padTop', 'padBottom', 'padLeft', 'padRight')
}
const resampled = {
  ...sizes('batch'),
  ...integers('channels'),
  ...sizes('inHeight', 'inWidth', 'outHeight', 'outWidth'),
  ...layouts('layout'),
  ...sizes('fullInHeight', 'fullInWidth', 'fullOutHeight', 'fullOutWidth')
}

/**
 * Fields that kernels have in common, in order. The C++ structs that hold them have the same names,
 * and one whose fields begin with another's derives from it.
 */
export const kernelFields = {
  count: sizes('count'),
  /** What is not positive is multiplied by `slope`; 1 leaves it. */
  rectifier: { ...sizes('count'), ...multipliers('slope') },
  clipGradient: { ...sizes('count'), ...reals('maxNorm') },
  /** `rate` multiplies the step's learning rate. */
  optimizer: { ...sizes('count'), ...reals('rate', 'weightDecay') },
  sgd: { ...sizes('count'), ...reals('rate', 'weightDecay', 'momentum') },
  adam: { ...sizes('count'), ...reals('rate', 'weightDecay', 'beta1', 'beta2', 'epsilon'), ...flags('decoupled') },
  zero: sizes('bytes'),
  channelCount: integers('channels'),
  updateRunning: { ...integers('channels'), ...reals('momentum') },
  mergeParts: integers('rows', 'parts'),
  addSums: integers('count', 'parts'),
  normaliseParameters: integers('images', 'channels'),
  linear: { ...sizes('batch'), ...integers('inFeatures', 'outFeatures') },
  crossEntropy: { ...sizes('batch'), ...integers('classes'), ...sizes('fullBatch') },
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
   * Channels count all groups. `algorithm` 0: direct; 1: Winograd's F(4x4, 3x3) or F(6x6, 3x3),
   * whose forward and backward-data read weights that are transformed for either, or as they are
   * stored; 2: the cuda device's own over few channels, but for backward-data; 16 + n: what cuDNN's
   * enumeration for this kind of convolution calls n; 32 + n of backward-data: its forward n with
   * turned weights; 2^32 + engine * 2^32 + the hash of its knobs: an engine of cuDNN's graphs.
   * Every device has 0, the cpu 1 too, cuda 2 and those of cuDNN.
   * `slope` as a rectifier's, of forward.
   */
  convolution: {
    ...window,
    ...integers('outChannels', 'groups'),
    ...layouts('sourceLayout', 'destinationLayout', 'weightLayout'),
    ...integers('algorithm'),
    ...multipliers('slope')
  },
  weightReorder: {
    ...integers('outChannels', 'inChannels', 'kernelHeight', 'kernelWidth', 'groups'),
    ...layouts('sourceLayout', 'destinationLayout')
  },
  /** A source of so many channels, of which a slice begins with the first ones. */
  weightSlice: {
    ...integers('outChannels', 'inChannels', 'kernelHeight', 'kernelWidth', 'groups'),
    ...layouts('sourceLayout', 'destinationLayout'),
    ...sizes('sourceOutChannels', 'sourceInChannels', 'firstOut', 'firstIn')
  },
  activationReorder: {
    ...sizes('batch'),
    ...integers('channels'),
    ...sizes('height', 'width'),
    ...layouts('sourceLayout', 'destinationLayout')
  },
  tile,
  pointwiseTile,
  /** `expression`: as staging/pointwise/encode.ts writes it. */
  pointwise: { ...pointwiseTile, expression: 'numbers' },
  /**
   * `rows`: 0 sums over all elements, 1 over those of each channel, 2 over those of each image's
   * channels.
   */
  pointwiseSum: { ...pointwiseTile, ...integers('rows'), expression: 'numbers' },
  globalAveragePool: { ...tile, ...multipliers('scale') },
  dropout: { ...tile, ...integers('fullChannels'), ...sizes('fullHeight', 'fullWidth', 'layerKey'), ...reals('rate') },
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
    ...reals('alpha', 'beta', 'smooth'),
    ...multipliers('scale'),
    expression: 'numbers'
  },
  overlapLoss: { ...integers('images', 'channels'), ...reals('alpha', 'beta', 'smooth'), ...multipliers('scale') },
  /** `normalisation`: mean and deviation of each channel in turn. */
  loadImage: { ...placedTile, normalisation: 'numbers' },
  /** Where a tile lies in a plain tensor: strides in elements. */
  stridedTile,
  squaredError: { ...stridedTile, ...sizes('count') },
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
  normalise: { ...groupedTile, ...reals('epsilon'), ...multipliers('slope'), ...flags('add') },
  /**
   * A 1x1 convolution with a stride of 1 of a normalised tile, whose layout its result has too.
   * `slope`: of the rectifier between the two; `outSlope`: of that behind the convolution, of
   * forward.
   */
  normalisedConvolution: {
    ...groupedTile,
    ...reals('epsilon'),
    ...multipliers('slope'),
    ...integers('outChannels'),
    ...layouts('weightLayout'),
    ...multipliers('outSlope')
  },
  /** Some channels of every pixel, from one tile to another. */
  copyChannels: {
    ...sizes('batch', 'height', 'width', 'count'),
    ...integers('sourceChannels', 'sourceFirst'),
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
  pad: { ...resampled, ...sizes('padTop', 'padLeft'), ...integers('mode') },
  /**
   * A fine tile [batch, channels, height, width] and a coarse one [batch, channels factor^2,
   * coarseHeight, coarseWidth]: fine (c, y, x) is coarse ((c factor + r) factor + s, Y, X), where y
   * + rowsBefore = Y factor + r and x + columnsBefore = X factor + s. From coarse to fine, or where
   * `inverse` is 1 back. What has no counterpart in the other tile is zero.
   */
  pixelShuffle: {
    ...sizes('batch'),
    ...integers('channels'),
    ...sizes('height', 'width', 'coarseHeight', 'coarseWidth'),
    ...integers('factor', 'rowsBefore', 'columnsBefore'),
    ...layouts('sourceLayout', 'destinationLayout'),
    ...flags('inverse')
  },
  /** A box of n0 x n1 x n2 rows of n3 contiguous elements; strides in elements. */
  copyBox: {
    ...sizes(
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
export const absentFields = { slope: 1, outSlope: 1, add: false }
