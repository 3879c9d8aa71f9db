import type { KernelSum } from './contender'

/** Kernels of Tilefold's and of PyTorch's that do the same. */
interface Kind {
  readonly kind: string
  /** Of Tilefold's names of kernels, as `bench --breakdown` tells them. */
  readonly ours: RegExp
  /** Of pytorch_breakdown.py's names. */
  readonly theirs: RegExp
}

/**
 * The first that matches a name has it. A transposed convolution runs, in both, as the gradient of
 * the data of the one that it turns around. Tilefold rectifies in convolutions and normalisations,
 * so that what is fused must be added up before it is compared.
 */
const kinds: readonly Kind[] = [
  {
    kind: 'convolutions, forward',
    ours: /^(convolutionForward|addBias)/,
    theirs: /^oneDNN (convolution forward|deconvolution backward_data)|slow_conv2d_forward/
  },
  {
    kind: 'convolutions, gradients of data',
    ours: /^convolutionBackwardData/,
    theirs: /^oneDNN (convolution backward_data|deconvolution forward)|slow_conv_transpose2d$/
  },
  {
    kind: 'convolutions, gradients of weights',
    ours: /^(convolutionBackwardWeights|sumBias)/,
    theirs: /^oneDNN (de)?convolution backward_weights/
  },
  // What PyTorch runs by itself where oneDNN would not pay, both gradients in one operator.
  { kind: 'convolutions, both gradients', ours: /^$/, theirs: /slow_conv.*_backward/ },
  { kind: 'convolutions, around them', ours: /^$/, theirs: /^convolutions, around oneDNN/ },
  {
    kind: 'other layouts and types',
    ours: /^(reorder|castWeights|copyBox|packTile|unpackAddTile)/,
    theirs: /^oneDNN reorder|^aten::(copy_|_to_copy|to|clone|contiguous)$/
  },
  {
    kind: 'normalisation, forward',
    ours: /^(moments|mergeMoments|updateRunning|normaliseForward)/,
    theirs: /^aten::(_?native_batch_norm|batch_norm|_batch_norm_.*|cudnn_batch_norm)$/
  },
  { kind: 'normalisation, backward', ours: /^(normalise|addSums)/, theirs: /^aten::.*batch_norm_backward|^NativeBatchNorm/ },
  { kind: 'rectifiers', ours: /^(rectifier|pointwise)/, theirs: /^aten::(relu_?|clamp_min_?|threshold_backward)$|^Relu/ },
  {
    kind: 'pooling',
    ours: /Pool|^mergeMaxima/,
    theirs: /pool|^aten::mean$|^(Mean|.*Pool).*Backward/
  },
  { kind: 'resizing', ours: /^resize|^pixelShuffle/, theirs: /^aten::upsample/ },
  { kind: 'additions', ours: /^addForward/, theirs: /^aten::add_?$/ },
  { kind: 'concatenations', ours: /^copyChannels|^shiftChannels/, theirs: /^aten::cat$/ },
  { kind: 'dropout', ours: /^dropout/, theirs: /dropout|bernoulli/ },
  { kind: 'linear layers', ours: /^linear/, theirs: /^aten::(addmm|mm|matmul|linear)$/ },
  { kind: 'loss', ours: /Loss|Entropy|Error/, theirs: /^aten::.*(softmax|nll_loss|cross_entropy)/ },
  { kind: 'optimizer', ours: /^(sgd|adam)/, theirs: /^optimizer/ },
  { kind: 'zeros', ours: /^zero/, theirs: /^aten::(zero_|zeros|fill_|zeros_like)$/ }
]

/** What no kind has. */
const rest = 'others'

/** Milliseconds and launches of a kind, and what they are the sum of. */
export interface KindSum {
  readonly kind: string
  readonly ours: readonly KernelSum[]
  readonly theirs: readonly KernelSum[]
}

const kindOf = (side: 'ours' | 'theirs', { kernel }: KernelSum): string => kinds.find((kind) => kind[side].test(kernel))?.kind ?? rest

/** Kernels of a step of each, by kind; kinds that neither has are left out. */
export const sumsByKind = (ours: readonly KernelSum[], theirs: readonly KernelSum[]): readonly KindSum[] =>
  [...kinds.map(({ kind }) => kind), rest]
    .map((kind) => ({
      kind,
      ours: ours.filter((one) => kindOf('ours', one) === kind),
      theirs: theirs.filter((one) => kindOf('theirs', one) === kind)
    }))
    .filter((sum) => sum.ours.length + sum.theirs.length > 0)

/** Milliseconds of all of them. */
export const millisecondsOf = (sums: readonly KernelSum[]): number => sums.reduce((total, { ms }) => total + ms, 0)
