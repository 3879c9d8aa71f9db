import type { PadMode } from '../../dsl'
import type { Interval } from './interval'
import { adaptiveInterval, resizeInterval, type ResampledAxis, type ResizedAxis } from './resampling'

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

/**
 * The range of an input that an op reads along one dimension for a range of outputs, and how far
 * its windows stand outside the tensor.
 */
export interface ReadInterval {
  readonly interval: Interval
  readonly padBefore: number
  readonly padAfter: number
  /**
   * A tensor whose only element along the dimension every output reads beside the interval of the
   * others.
   */
  readonly broadcast?: number
  /** The part of padAfter that lies past the declared padding (windows added by ceilMode). */
  readonly overhang: number
}

/** What is read, or held, of an axis along which there is one of all. */
export const single: Interval = { from: 0, to: 1 }

/** Returns the range that is read of one of the op's inputs. */
export const readInterval = ({ interval, broadcast }: ReadInterval, tensor: number): Interval => (broadcast === tensor ? single : interval)

/** Reads exactly these coordinates, without padding. */
export const unpadded = (interval: Interval): ReadInterval => ({ interval, padBefore: 0, padAfter: 0, overhang: 0 })

/**
 * Returns the inputs that a range of padded outputs shows, and where a reflection turns back also
 * as far as it does: so that ranges further on read from no earlier on, as bands of rows must.
 */
const padInterval = (access: Extract<AxisAccess, { readonly kind: 'pad' }>, { from, to }: Interval, extent: number): Interval => {
  const { mode, before, after } = access
  const [first, last] = mode === 'reflect' ? [before, extent - 1 - after] : [0, extent - 1]
  return { from: Math.max(Math.min(from - before, last), 0), to: Math.min(Math.max(to - 1 - before, first), extent - 1) + 1 }
}

/**
 * inputRegion along one dimension: Xu 2022's slice of sigma T + delta, clipped to the input's
 * `extent`; what was clipped off is explicit padding. An empty interval means that the outputs see
 * nothing but padding.
 */
export const inputInterval = (access: AxisAccess, output: Interval, extent: number): ReadInterval => {
  switch (access.kind) {
    case 'same':
      return unpadded(output)
    case 'transposedWindow': {
      const { kernel, stride, dilation, padBefore, apart } = access
      const reach = dilation * (kernel - 1)
      const from = apart ? 0 : Math.max(0, Math.ceil((output.from + padBefore - reach) / stride))
      const to = apart ? extent : Math.min(extent, Math.floor((output.to - 1 + padBefore) / stride) + 1)
      // As a convolution from the output to the input sees it: how far its windows stand outside
      // the output's tile.
      const before = padBefore + output.from - from * stride
      const after = (to - from - 1) * stride + reach + 1 - (output.to - output.from) - before
      return { interval: { from, to }, padBefore: before, padAfter: Math.max(0, after), overhang: 0 }
    }
    case 'resize':
      return unpadded(resizeInterval(access, output))
    case 'adaptive':
      return unpadded(adaptiveInterval(access, output))
    case 'pad':
      return unpadded(padInterval(access, output, extent))
    case 'whole':
    case 'reduce':
      return unpadded({ from: 0, to: extent })
    case 'window': {
      const from = output.from * access.stride - access.padBefore
      const to = (output.to - 1) * access.stride - access.padBefore + access.dilation * (access.kernel - 1) + 1
      const clipped = { from: Math.max(from, 0), to: Math.min(to, extent) }
      return {
        interval: clipped,
        padBefore: clipped.from - from,
        padAfter: to - clipped.to,
        overhang: Math.max(0, to - extent - access.padAfter)
      }
    }
  }
}

/**
 * The reading with what a stride leaves over at its end, where that is held anyway: no window
 * reaches it, and a tensor that is held just so need not be cut.
 */
export const withLeftover = (access: AxisAccess, reading: ReadInterval, held: Interval): ReadInterval => {
  const left = held.to - reading.interval.to
  return access.kind === 'window' && reading.padAfter === 0 && left > 0 && left < access.stride
    ? { ...reading, interval: { from: reading.interval.from, to: held.to } }
    : reading
}
