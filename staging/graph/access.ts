import type { PadMode } from '../../dsl'
import type { ArgsOf, Op } from '../../dsl/internal'
import type { Extents } from './extents'
import type { ResampledAxis, ResizedAxis } from './resampling'
import type { TileAxis } from '../program/program'

/**
 * Which part of an op's input one output element reads along one dimension (Xu 2022, Listings 1 and
 * 2: inpToIter and iterToOut of a chain's ops, whose dimensions B, H, W keep their names). `window`
 * is Xu 2022's sigma T + delta; `whole` makes the op incompatible with tiling along the dimension;
 * `reduce` sums the dimension away, which is legal for the last op of a segment only.
 */
export type AxisAccess =
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
   * The access of a transposed convolution: output o reads the inputs i with o = stride i -
   * padBefore + dilation j, for j below kernel. Where windows stand `apart`, rows between them have
   * no input: then it takes its whole input, and is incompatible with tiling too.
   */
  | {
      readonly kind: 'transposedWindow'
      readonly apart: boolean
      readonly kernel: number
      readonly stride: number
      readonly dilation: number
      readonly padBefore: number
    }
  /** Resizing, by absolute coordinates between whole tensors of these extents. */
  | ({ readonly kind: 'resize' } & ResizedAxis)
  | ({ readonly kind: 'adaptive' } & ResampledAxis)
  /**
   * Output o shows the input o - before; beyond the tensor what the mode makes of its edge, which
   * is held where it is nothing, too.
   */
  | { readonly kind: 'pad'; readonly mode: PadMode; readonly before: number; readonly after: number }
  | { readonly kind: 'whole' }
  | { readonly kind: 'reduce' }

export type AccessMap = { readonly [A in TileAxis]: AxisAccess }

const same: AxisAccess = { kind: 'same' }
const whole: AxisAccess = { kind: 'whole' }
const reduce: AxisAccess = { kind: 'reduce' }

/**
 * A rule that says how an op of these arguments, from a tensor of one size to one of another, reads
 * its input.
 */
export type AccessRule<P extends Op> = (args: ArgsOf<P>, input: Extents, output: Extents) => AccessMap

/**
 * The access of a pointwise op: each output element reads the input's element at its own place.
 * Flat tensors have H = W = 1, so `same` along them allows one tile only.
 */
export const sameAccess = (): AccessMap => ({ B: same, H: same, W: same })
/** The access of an op whose output rows each read a whole image. */
export const wholeImageAccess = (): AccessMap => ({ B: same, H: whole, W: whole })
/** Pixels are summed away. */
export const pixelReductionAccess = (): AccessMap => ({ B: same, H: reduce, W: reduce })
/** All but the channels is summed away. */
export const reductionAccess = (): AccessMap => ({ B: reduce, H: reduce, W: reduce })
/** Rows of a batch are summed; each is read whole. */
export const rowReductionAccess = (): AccessMap => ({ B: reduce, H: whole, W: whole })
/** Along height and width, by a rule of its own. */
export const imageAccess = (axis: (index: 0 | 1) => AxisAccess): AccessMap => ({ B: same, H: axis(0), W: axis(1) })
