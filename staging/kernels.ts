/**
 * Every kernel that a device implements: its numeric fields, and its operands in order with how each is used.
 * The order of the rows is the kernel's code in a Program; native/src/kernels.hpp lists the same table, and a test
 * compares the two. Extents are in elements, offsets in bytes; layouts are codes of staging/layout.ts.
 *
 * An operand is an address, except those marked `index`, whose value is a number itself (an absolute coordinate).
 * `accumulate` reads and writes; an optional operand that is absent stands in space `none`.
 *
 * Where activations have another type than parameters (Precision in program.ts), tiles and their gradients have the activations', as have
 * the weights that convolutions and linear layers read; all other operands have the parameters': biases, gradients of parameters, weights
 * of normalisations, a pixel sum that tiles add to, and the plain tensor of gather and scatterAdd.
 */
export type Use = 'read' | 'write' | 'accumulate' | 'scratch' | 'index'

/** A sliding window over a tile: the input tile is padded by exactly these amounts (already clipped to the tensor). */
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
/**
 * `algorithm` 0: direct; 1: Winograd's F(4x4, 3x3), whose forward and backward-data read weights in the layouts of that name;
 * 16 + n: what cuDNN's enumeration for this kind of convolution calls n. Every device has 0, the cpu 1 too, cuda those of cuDNN.
 */
const convolution = [...window, 'outChannels', 'groups', 'sourceLayout', 'destinationLayout', 'weightLayout', 'algorithm'] as const
const tile = ['batch', 'channels', 'height', 'width', 'layout'] as const
/**
 * A row of statistics is a group of channels, of each image by itself where perImage is 1: batchNorm has groups = channels and perImage 0,
 * instanceNorm groups = channels and perImage 1, groupNorm perImage 1. Rows in order of image, then group.
 */
const normalised = [...tile, 'groups', 'perImage', 'epsilon', 'slope'] as const
/** A tile of input and output of an op that maps absolute coordinates between whole tensors of the full extents. */
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
/** Absolute coordinates of the first row and column of the tiles of input and output. */
const resampledAt = { sourceRow: 'index', sourceColumn: 'index', destinationRow: 'index', destinationColumn: 'index' } as const
/** Where a tile lies in a plain tensor: strides in elements. */
const strided = [...tile, 'strideBatch', 'strideChannel', 'strideHeight'] as const
/** `rate` multiplies the step's learning rate. */
const optimizer = ['count', 'rate', 'weightDecay'] as const

export const kernelTable = {
  /** Negative results are multiplied by `slope`: a rectifier in the same go. 1 leaves them. */
  convolutionForward: {
    fields: [...convolution, 'slope'],
    operands: { source: 'read', weights: 'read', bias: 'read', destination: 'write', scratch: 'scratch' }
  },
  convolutionBackwardData: {
    fields: convolution,
    operands: { destinationGradient: 'read', weights: 'read', sourceGradient: 'write', scratch: 'scratch' }
  },
  convolutionBackwardWeights: {
    fields: convolution,
    operands: { source: 'read', destinationGradient: 'read', weightGradient: 'write', biasGradient: 'write', scratch: 'scratch' }
  },
  /** [groups of out x in x kh x kw] from one weight layout to another, which may be a transformed one. */
  reorderWeights: {
    fields: ['outChannels', 'inChannels', 'kernelHeight', 'kernelWidth', 'groups', 'sourceLayout', 'destinationLayout'],
    operands: { source: 'read', destination: 'write' }
  },
  /** An activation from one layout to another (flatten and its gradient, export). */
  reorderActivation: {
    fields: ['batch', 'channels', 'height', 'width', 'sourceLayout', 'destinationLayout'],
    operands: { source: 'read', destination: 'write' }
  },
  /** y = x > 0 ? x : slope x; relu has slope 0. In place when source = destination. */
  rectifierForward: { fields: ['count', 'slope'], operands: { source: 'read', destination: 'write' } },
  /** From the output's sign (slope >= 0), so that the input need not be kept. In place when both gradients coincide. */
  rectifierBackward: {
    fields: ['count', 'slope'],
    operands: { destination: 'read', destinationGradient: 'read', sourceGradient: 'write' }
  },
  /** `winners`: which element of each window was largest (the first of equals), in a form of the device's own. */
  maxPoolForward: { fields: [...window, 'layout'], operands: { source: 'read', destination: 'write', winners: 'write' } },
  maxPoolBackward: { fields: [...window, 'layout'], operands: { destinationGradient: 'read', winners: 'read', sourceGradient: 'write' } },
  /** Divides by the window's size with padding (countPadding 1) or without; `overhang`: rows and columns that ceilMode adds past the padding, never counted. */
  averagePoolForward: {
    fields: [...window, 'layout', 'overhangBottom', 'overhangRight', 'countPadding'],
    operands: { source: 'read', destination: 'write' }
  },
  averagePoolBackward: {
    fields: [...window, 'layout', 'overhangBottom', 'overhangRight', 'countPadding'],
    operands: { destinationGradient: 'read', sourceGradient: 'write' }
  },
  /** sum[b, c] += scale * sum of the tile's pixels; sum is plain [batch, channels]. */
  sumPixelsForward: { fields: [...tile, 'scale'], operands: { source: 'read', sum: 'accumulate' } },
  sumPixelsBackward: { fields: [...tile, 'scale'], operands: { sumGradient: 'read', sourceGradient: 'write' } },
  /** y[b, o] = sum_i x[b, i] w[o, i] + bias[o]; everything plain. */
  linearForward: {
    fields: ['batch', 'inFeatures', 'outFeatures'],
    operands: { source: 'read', weights: 'read', bias: 'read', destination: 'write' }
  },
  linearBackwardData: {
    fields: ['batch', 'inFeatures', 'outFeatures'],
    operands: { destinationGradient: 'read', weights: 'read', sourceGradient: 'write' }
  },
  linearBackwardWeights: {
    fields: ['batch', 'inFeatures', 'outFeatures'],
    operands: { source: 'read', destinationGradient: 'read', weightGradient: 'write', biasGradient: 'write' }
  },
  /**
   * destination = keep(element) ? source / (1 - rate) : 0, forward and backward alike. keep is a counter-based draw keyed by
   * (seed, step, layerKey, absolute plain element of the tensor [fullChannels, fullHeight, fullWidth]).
   */
  dropout: {
    fields: [...tile, 'fullChannels', 'fullHeight', 'fullWidth', 'layerKey', 'rate'],
    operands: { source: 'read', destination: 'write', batchOrigin: 'index', rowOrigin: 'index', columnOrigin: 'index' }
  },
  /**
   * Adds to loss (two float64: summed loss / fullBatch, rows predicted rightly). labels: int32, one a row. A row's loss and
   * gradient are multiplied by its weight (rowWeights [batch]), where weights are given.
   */
  softmaxCrossEntropyForward: {
    fields: ['batch', 'classes', 'fullBatch'],
    operands: { source: 'read', labels: 'read', rowWeights: 'read', loss: 'accumulate' }
  },
  softmaxCrossEntropyBackward: {
    fields: ['batch', 'classes', 'fullBatch'],
    operands: { source: 'read', labels: 'read', rowWeights: 'read', sourceGradient: 'write' }
  },
  /** Adds sum (source - target)^2 / count to loss (first of two float64). target: plain, strided, of the Program's precision. */
  meanSquaredErrorForward: { fields: [...strided, 'count'], operands: { source: 'read', target: 'read', loss: 'accumulate' } },
  meanSquaredErrorBackward: { fields: [...strided, 'count'], operands: { source: 'read', target: 'read', sourceGradient: 'write' } },
  /** A row's moments are three float64: count, mean, sum of squared deviations. Merges those of the tile, in double (Chan et al. 1979). */
  momentsForward: { fields: [...tile, 'groups', 'perImage'], operands: { source: 'read', moments: 'accumulate' } },
  /** Moments (count 1) that stand for a running mean and variance [channels]. */
  momentsOfRunning: { fields: ['channels'], operands: { mean: 'read', variance: 'read', moments: 'write' } },
  /** running = (1 - momentum) running + momentum batch; the variance unbiased, as in PyTorch. */
  updateRunning: { fields: ['channels', 'momentum'], operands: { moments: 'read', mean: 'accumulate', variance: 'accumulate' } },
  /** y = rectified((x - mean) / sqrt(variance + epsilon) * weights + bias), weights and bias [channels]; slope as of convolutionForward. */
  normaliseForward: {
    fields: normalised,
    operands: { source: 'read', moments: 'read', weights: 'read', bias: 'read', destination: 'write' }
  },
  /**
   * Adds to sums, two float64 for each channel (of each image where perImage is 1): of dy, and of dy times the normalised x. The
   * rectifier's part of the gradient is found from x.
   */
  normaliseSums: {
    fields: normalised,
    operands: { source: 'read', moments: 'read', weights: 'read', bias: 'read', destinationGradient: 'read', sums: 'accumulate' }
  },
  /** Gradients of weights and bias [channels] from sums of `images` images (1 for batchNorm). */
  normaliseParameters: { fields: ['images', 'channels'], operands: { sums: 'read', weightGradient: 'write', biasGradient: 'write' } },
  /**
   * weights rstd (dy - mean of dy - normalised x times mean of dy normalised x), means over a row by its count; without sums, moments are
   * constants: weights rstd dy. `add` 1 adds to sourceGradient, else it may be destinationGradient itself.
   */
  normaliseBackward: {
    fields: [...normalised, 'add'],
    operands: {
      source: 'read',
      moments: 'read',
      weights: 'read',
      bias: 'read',
      sums: 'read',
      destinationGradient: 'read',
      sourceGradient: 'accumulate'
    }
  },
  /** destination = rectified(first + second), which may be either. */
  addForward: { fields: ['count', 'slope'], operands: { first: 'read', second: 'read', destination: 'write' } },
  /**
   * `count` channels of every pixel from one dense tile to another of the same batch, height and width. `add` 1 adds; 0 writes the
   * channels, with the padding behind them where they are the last, so whole blocks where channelsAreApart (layout.ts).
   */
  copyChannels: {
    fields: [
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
    operands: { source: 'read', destination: 'accumulate' }
  },
  /** function 0: sigmoid, 1: tanh, 2: silu, 3: gelu (by erf). In place where source = destination. */
  activationForward: { fields: [...tile, 'function'], operands: { source: 'read', destination: 'write' } },
  /** `kept`: the output of sigmoid and tanh, the input of silu and gelu. In place where both gradients coincide. */
  activationBackward: {
    fields: [...tile, 'function'],
    operands: { kept: 'read', destinationGradient: 'read', sourceGradient: 'write' }
  },
  /** As torch.nn.functional.interpolate: bilinear 0 is nearest. */
  resizeForward: {
    fields: [...resampled, 'bilinear', 'alignCorners'],
    operands: { source: 'read', destination: 'write', ...resampledAt }
  },
  resizeBackward: {
    fields: [...resampled, 'bilinear', 'alignCorners'],
    operands: { destinationGradient: 'read', sourceGradient: 'write', ...resampledAt }
  },
  /** Row o of the output is the mean over rows floor(o H / O) to ceil((o + 1) H / O); columns likewise. */
  adaptivePoolForward: { fields: resampled, operands: { source: 'read', destination: 'write', ...resampledAt } },
  adaptivePoolBackward: { fields: resampled, operands: { destinationGradient: 'read', sourceGradient: 'write', ...resampledAt } },
  /** Adds bias [channels] to every pixel. */
  addBias: { fields: tile, operands: { bias: 'read', destination: 'accumulate' } },
  /** Sums over the tile's images and pixels. */
  sumBias: { fields: tile, operands: { destinationGradient: 'read', biasGradient: 'write' } },
  /**
   * labels: int32 [B, fullHeight, fullWidth]; a pixel counts by its class's weight (1 where absent), unless its label is `ignored`. Adds to
   * loss (two float64: sum of weighted losses / normaliser, pixels predicted rightly). normaliser: one float64.
   */
  pixelCrossEntropyForward: {
    fields: [...tile, 'fullHeight', 'fullWidth', 'ignored'],
    operands: { source: 'read', labels: 'read', classWeights: 'read', normaliser: 'read', loss: 'accumulate' }
  },
  pixelCrossEntropyBackward: {
    fields: [...tile, 'fullHeight', 'fullWidth', 'ignored'],
    operands: { source: 'read', labels: 'read', classWeights: 'read', normaliser: 'read', sourceGradient: 'write' }
  },
  /** The class of the largest score of each pixel (the first of equals), uint8 [B, fullHeight, fullWidth]. */
  classesOfPixels: { fields: [...tile, 'fullHeight', 'fullWidth'], operands: { source: 'read', classes: 'write' } },
  /** A box of n0 x n1 x n2 rows of n3 contiguous elements, of activations or of parameters; strides in elements. `add` 1 adds to the destination. */
  copyBox: {
    fields: [
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
    ],
    operands: { source: 'read', destination: 'accumulate' }
  },
  /** A tile of a plain strided tensor to a dense tile in `layout` (channel padding is zeroed). */
  gather: { fields: strided, operands: { source: 'read', destination: 'write' } },
  /** Adds a dense tile in `layout` to a plain strided tensor. */
  scatterAdd: { fields: strided, operands: { source: 'read', destination: 'accumulate' } },
  /** Zeroes `bytes` bytes. */
  zero: { fields: ['bytes'], operands: { destination: 'write' } },
  /** A tile of the step's uint8 images: (pixel / 255 - mean[c]) / deviation[c], with each image's crop, flips, turns and colour. channels <= 4. */
  loadImage: {
    fields: [
      ...tile,
      'fullHeight',
      'fullWidth',
      'mean0',
      'mean1',
      'mean2',
      'mean3',
      'deviation0',
      'deviation1',
      'deviation2',
      'deviation3'
    ],
    operands: { destination: 'write', batchOrigin: 'index', rowOrigin: 'index', columnOrigin: 'index' }
  },
  /** As torch.optim.SGD: g += weightDecay w; m = step == 0 ? g : momentum m + g; w -= rate m. Without momentum, `velocity` is absent. */
  sgd: { fields: [...optimizer, 'momentum'], operands: { weights: 'accumulate', gradient: 'read', velocity: 'accumulate' } },
  /** As torch.optim.Adam (decoupled 0) and AdamW (decoupled 1); bias correction by step + 1. */
  adam: {
    fields: [...optimizer, 'beta1', 'beta2', 'epsilon', 'decoupled'],
    operands: { weights: 'accumulate', gradient: 'read', firstMoment: 'accumulate', secondMoment: 'accumulate' }
  },
  /** sum (one float64) += the squares of all elements, in double. */
  sumSquares: { fields: ['count'], operands: { source: 'read', sum: 'accumulate' } },
  /** As torch.nn.utils.clip_grad_norm_: gradient *= min(1, maxNorm / (sqrt(sumSquares) + 1e-6)); sumSquares: one float64. */
  clipGradient: { fields: ['count', 'maxNorm'], operands: { sumSquares: 'read', gradient: 'accumulate' } },
  /** Of `count` float64. */
  squareRoot: { fields: ['count'], operands: { source: 'read', destination: 'write' } },
  /** Weights as products read them: rounded to the activations' type, to the nearest, ties to even. */
  roundWeights: { fields: ['count'], operands: { source: 'read', destination: 'write' } }
} as const

export type KernelKind = keyof typeof kernelTable
export const kernelKinds = Object.keys(kernelTable) as readonly KernelKind[]

type FieldsOf<K extends KernelKind> = (typeof kernelTable)[K]['fields'][number]
export type OperandsOf<K extends KernelKind> = keyof (typeof kernelTable)[K]['operands']

/** One kernel with all its numbers fixed; a Program holds each distinct one once. */
export type KernelOf<K extends KernelKind> = { readonly kind: K } & { readonly [F in FieldsOf<K>]: number }
export type Kernel = { [K in KernelKind]: KernelOf<K> }[KernelKind]
export type ConvolutionKernel = Extract<Kernel, { readonly algorithm: number }>

export const isConvolution = (kernel: Kernel): kernel is ConvolutionKernel => 'algorithm' in kernel

/** [code, ...fields in the table's order]: what a device decodes. */
export const encodeKernel = (kernel: Kernel): readonly number[] => [
  kernelKinds.indexOf(kernel.kind),
  ...kernelTable[kernel.kind].fields.map((field) => (kernel as unknown as Record<string, number>)[field]!)
]

/** The same as a key for what is remembered by kernel. */
export const keyOfKernel = (kernel: Kernel): string => encodeKernel(kernel).join()
