import { transposedWindowOf, windowOf, type ArgsOf, type Op } from '../../dsl'
import type { Extents } from './extents'
import type { ResampledAxis, ResizedAxis } from './resampling'
import type { TileAxis } from '../program/program'

/**
 * Which part of an op's input one output element reads along one dimension (DESIGN §3; paper 002, Listings 1 and 2: inpToIter and
 * iterToOut of a chain's ops, whose dimensions B, H, W keep their names). `window` is paper 002's
 * sigma T + delta; `whole` makes the op incompatible with tiling along the dimension; `reduce` sums the dimension away,
 * which is legal for the last op of a segment only.
 */
export type Access =
  | { readonly kind: 'same' }
  | {
      readonly kind: 'window'
      readonly kernel: number
      readonly stride: number
      readonly dilation: number
      readonly padBefore: number
      readonly padAfter: number
    }
  /**
   * Of a transposed convolution: output o reads the inputs i with o = stride i - padBefore + dilation j, for j below kernel. Where windows
   * stand `apart`, rows between them have no input: then it takes its whole input, and is incompatible with tiling too.
   */
  | {
      readonly kind: 'transposedWindow'
      readonly apart: boolean
      readonly kernel: number
      readonly stride: number
      readonly dilation: number
      readonly padBefore: number
    }
  /** By absolute coordinates between whole tensors of these extents. */
  | ({ readonly kind: 'resize' } & ResizedAxis)
  | ({ readonly kind: 'adaptive' } & ResampledAxis)
  | { readonly kind: 'whole' }
  | { readonly kind: 'reduce' }

export type AccessMap = { readonly [A in TileAxis]: Access }

const same: Access = { kind: 'same' }
const whole: Access = { kind: 'whole' }
const reduce: Access = { kind: 'reduce' }

const pointwise = (): AccessMap => ({ B: same, H: same, W: same })

const sliding = (args: ArgsOf<'conv2d'> | ArgsOf<'maxPool2d'> | ArgsOf<'avgPool2d'>): AccessMap => {
  const { kernel, stride, dilation, padding } = windowOf(args)
  const axis = (index: 0 | 1, padBefore: number, padAfter: number): Access => ({
    kind: 'window',
    kernel: kernel[index],
    stride: stride[index],
    dilation: dilation[index],
    padBefore,
    padAfter
  })
  return { B: same, H: axis(0, padding.top, padding.bottom), W: axis(1, padding.left, padding.right) }
}

const transposed = (args: ArgsOf<'convTranspose2d'>): AccessMap => {
  const { kernel, stride, dilation, padding } = transposedWindowOf(args)
  const axis = (index: 0 | 1): Access => ({
    kind: 'transposedWindow',
    apart: dilation[index] * (kernel[index] - 1) + 1 < stride[index],
    kernel: kernel[index],
    stride: stride[index],
    dilation: dilation[index],
    padBefore: padding[index]
  })
  return { B: same, H: axis(0), W: axis(1) }
}

const resampled = (rule: (inExtent: number, outExtent: number) => Access, input: Extents, output: Extents): AccessMap => ({
  B: same,
  H: rule(input[2], output[2]),
  W: rule(input[3], output[3])
})

const summed: AccessMap = { B: same, H: reduce, W: reduce }

export type AccessRule<P extends Op> = (args: ArgsOf<P>, input: Extents, output: Extents) => AccessMap

/** One row an op, the same for all of its inputs. Flat tensors have H = W = 1, so `same` along them allows one tile only. */
export const accessMaps: { readonly [P in Op]: AccessRule<P> } = {
  conv2d: sliding,
  maxPool2d: sliding,
  avgPool2d: sliding,
  relu: pointwise,
  leakyRelu: pointwise,
  dropout: pointwise,
  sigmoid: pointwise,
  tanh: pointwise,
  silu: pointwise,
  gelu: pointwise,
  // Statistics come from before the segment: see `barriers` in normalisation.ts.
  batchNorm: pointwise,
  groupNorm: pointwise,
  instanceNorm: pointwise,
  add: pointwise,
  concat: pointwise,
  linear: pointwise,
  convTranspose2d: transposed,
  resize: ({ mode, alignCorners = false }, input, output) =>
    resampled(
      (inExtent, outExtent) => ({ kind: 'resize', bilinear: mode === 'bilinear', alignCorners, inExtent, outExtent }),
      input,
      output
    ),
  adaptiveAvgPool2d: (_, input, output) =>
    output[2] === 1 && output[3] === 1
      ? summed
      : resampled((inExtent, outExtent) => ({ kind: 'adaptive', inExtent, outExtent }), input, output),
  globalAvgPool: () => summed,
  flatten: () => ({ B: same, H: whole, W: whole }),
  softmaxCrossEntropy: () => ({ B: reduce, H: whole, W: whole }),
  pixelCrossEntropy: () => ({ B: reduce, H: reduce, W: reduce }),
  meanSquaredError: () => ({ B: reduce, H: reduce, W: reduce })
}
