import type { ConvTranspose2dArguments, Conv2dArguments, MaxPool2dArguments, AvgPool2dArguments, Padding } from './arguments'
import { pair } from './options'

/** A sliding window with every default filled in; extents in elements. */
export interface Window {
  readonly kernel: readonly [height: number, width: number]
  readonly stride: readonly [height: number, width: number]
  readonly dilation: readonly [height: number, width: number]
  readonly padding: { readonly top: number; readonly bottom: number; readonly left: number; readonly right: number }
}

export type WindowArguments = Conv2dArguments | MaxPool2dArguments | AvgPool2dArguments

const sides = (value: Padding): Window['padding'] => {
  if (typeof value === 'object' && value.length !== 2) return { top: value[0], bottom: value[1], left: value[2], right: value[3] }
  const [vertical, horizontal] = pair(value)
  return { top: vertical, bottom: vertical, left: horizontal, right: horizontal }
}

/** The window of a convolution (which has `out`) or a pool (whose stride is its kernel unless told otherwise). */
export const windowOf = (args: WindowArguments): Window => ({
  kernel: pair(args.k),
  stride: pair(args.s ?? ('out' in args ? 1 : args.k)),
  dilation: pair('d' in args ? (args.d ?? 1) : 1),
  padding: sides(args.p ?? 0)
})

/** The window of a transposed convolution, which slides over its output. */
export const transposedWindowOf = (args: ConvTranspose2dArguments) => ({
  kernel: pair(args.k),
  stride: pair(args.s ?? 1),
  dilation: pair(args.d ?? 1),
  /** Before and after, along height and width. */
  padding: pair(args.p ?? 0),
  outputPadding: pair(args.outputPadding ?? 0)
})

/** Elements from the first to the last that one window touches. */
export const windowExtent = (kernel: number, dilation: number): number => dilation * (kernel - 1) + 1

/**
 * Windows that fit along one direction, as PyTorch counts them. With `ceilMode` a last, partial window is added
 * if it starts inside the input or the padding before it. Zero when not even one fits.
 */
export const windowCount = (
  extent: number,
  [before, after]: readonly [number, number],
  kernel: number,
  stride: number,
  dilation: number,
  ceilMode: boolean
): number => {
  const room = extent + before + after + (ceilMode ? stride - 1 : 0) - windowExtent(kernel, dilation)
  const last = Math.floor(room / stride)
  return room < 0 ? 0 : ceilMode && last * stride >= extent + before ? last : last + 1
}
