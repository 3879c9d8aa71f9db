import { windowOf, type ArgsOf, type Op } from '../dsl'
import type { TileAxis } from './program'

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

/** One row an op. Flat tensors have H = W = 1, so `same` along them allows one tile only. */
export const accessMaps: { readonly [P in Op]: (args: ArgsOf<P>) => AccessMap } = {
  conv2d: sliding,
  maxPool2d: sliding,
  avgPool2d: sliding,
  relu: pointwise,
  leakyRelu: pointwise,
  dropout: pointwise,
  linear: pointwise,
  globalAvgPool: () => ({ B: same, H: reduce, W: reduce }),
  flatten: () => ({ B: same, H: whole, W: whole }),
  softmaxCrossEntropy: () => ({ B: reduce, H: whole, W: whole }),
  meanSquaredError: () => ({ B: reduce, H: reduce, W: reduce })
}
