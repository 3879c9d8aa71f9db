/** Windows that slide over images: at run time and, with the same sentences, in types. */
import * as E from 'fp-ts/Either'
import type { Add, ConvDim, NotNegative, AreWholePositive, WindowExtent } from '../shapes/arithmetic'
import { showShape, type UnaryRule } from '../shapes/shape'
import {
  pair,
  sizesError,
  areIntegers,
  type Height,
  type OptionValue,
  type Padding,
  type Pair,
  type SideValue,
  type SizesError,
  type Width
} from './options'

/** A sliding window with every default filled in; extents in elements. */
export interface Window {
  readonly kernel: readonly [height: number, width: number]
  readonly stride: readonly [height: number, width: number]
  readonly dilation: readonly [height: number, width: number]
  readonly padding: { readonly top: number; readonly bottom: number; readonly left: number; readonly right: number }
}

/** Options of an op that slides a window; a pool has no `out`. */
export interface WindowArguments {
  readonly k: Pair
  readonly s?: Pair
  readonly p?: Padding
  readonly d?: Pair
  readonly out?: number
  readonly ceilMode?: boolean
}

const sides = (value: Padding): Window['padding'] => {
  if (typeof value === 'object' && value.length !== 2) return { top: value[0], bottom: value[1], left: value[2], right: value[3] }
  const [vertical, horizontal] = pair(value)
  return { top: vertical, bottom: vertical, left: horizontal, right: horizontal }
}

/**
 * The window of a convolution (which has `out`) or a pool (whose stride is its kernel unless told
 * otherwise).
 */
export const toWindow = (args: WindowArguments): Window => ({
  kernel: pair(args.k),
  stride: pair(args.s ?? (args.out === undefined ? args.k : 1)),
  dilation: pair(args.d ?? 1),
  padding: sides(args.p ?? 0)
})

/** Elements from the first to the last that one window touches. */
export const windowExtent = (kernel: number, dilation: number): number => dilation * (kernel - 1) + 1

/**
 * Windows that fit along one direction, as PyTorch counts them. With `ceilMode` a last, partial
 * window is added if it starts inside the input or the padding before it. Zero when not even one
 * fits.
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

/**
 * The rule of an op that slides a window over images; `channels` gives its output's channels, or
 * why there are none.
 */
export const windowRule =
  <A extends WindowArguments>(op: string, channels: (args: A, inChannels: number) => E.Either<string, number>): UnaryRule<A> =>
  (args, shape) => {
    const [batch, inChannels, height, width] = shape
    if (shape.length !== 4) return E.left(`${op}: takes an image BxCxHxW, not ${showShape(shape)}`)
    const outChannels = channels(args, inChannels!)
    if (E.isLeft(outChannels)) return outChannels
    const { kernel, stride, dilation, padding } = toWindow(args)
    const { top, bottom, left, right } = padding
    if (!areIntegers([...kernel, ...stride, ...dilation], 1) || !areIntegers([top, bottom, left, right], 0)) return E.left(sizesError(op))
    const extents = [windowExtent(kernel[0], dilation[0]), windowExtent(kernel[1], dilation[1])] as const
    const padded = [height! + top + bottom, width! + left + right] as const
    const ceilMode = args.ceilMode === true
    const outHeight = windowCount(height!, [top, bottom], kernel[0], stride[0], dilation[0], ceilMode)
    const outWidth = windowCount(width!, [left, right], kernel[1], stride[1], dilation[1], ceilMode)
    if (outHeight === 0 || outWidth === 0)
      return E.left(
        `${op}: the ${dilation[0] * dilation[1] === 1 ? '' : 'dilated '}kernel ${showShape(extents)} is larger than its padded input ${showShape(padded)}`
      )
    if (args.out === undefined && (2 * Math.max(top, bottom) > kernel[0] || 2 * Math.max(left, right) > kernel[1]))
      return E.left(`${op}: a padding is more than half of the kernel ${showShape(kernel)}`)
    return E.right([batch!, outChannels.right, outHeight, outWidth])
  }

type Sides<P> = P extends number
  ? readonly [P, P, P, P]
  : P extends readonly [infer H, infer W]
    ? readonly [SideValue<H>, SideValue<H>, SideValue<W>, SideValue<W>]
    : P extends readonly [infer Top, infer Bottom, infer Left, infer Right]
      ? readonly [SideValue<Top>, SideValue<Bottom>, SideValue<Left>, SideValue<Right>]
      : readonly [number, number, number, number]

/** A number for each side of an image. */
export type Numbers2 = readonly [height: number, width: number]
/** A number for each edge of an image. */
export type Numbers4 = readonly [top: number, bottom: number, left: number, right: number]
/** What is one of several sizes is any: each stride of two would make four shapes of one. */
type SizesOf<P> = IsUnion<P> extends true ? Numbers2 : readonly [Height<P>, Width<P>]
type IsUnion<P, All = P> = P extends unknown ? ([All] extends [P] ? false : true) : never

/** The kernel's sizes in the options A of a window, 1 where absent. */
export type KernelSizes<A> = SizesOf<OptionValue<A, 'k', 1>>
/** The strides in the options A of a window, `Default` where absent. */
export type Stride<A, Default> = SizesOf<OptionValue<A, 's', Default>>
/** The dilations in the options A of a window, 1 where absent. */
export type Dilation<A> = SizesOf<OptionValue<A, 'd', 1>>
/** The paddings in the options A of a window, 0 where absent. */
export type Pads<A> = IsUnion<OptionValue<A, 'p', 0>> extends true ? Numbers4 : Sides<OptionValue<A, 'p', 0>>

/**
 * The shape [B, C, H, W] that an op of the name N with windows (a convolution, a pool) makes of an
 * image with the sides In, by kernel K, stride T, dilation D and padding P; a sentence where a size
 * is no whole number, or a window is larger than the padded image.
 */
export type Windowed<
  N extends string,
  B extends number,
  C extends number,
  In extends Numbers2,
  K extends Numbers2,
  T extends Numbers2,
  D extends Numbers2,
  P extends Numbers4,
  Ceil extends boolean
> = [AreWholePositive<`${K[0]} ${K[1]} ${T[0]} ${T[1]} ${D[0]} ${D[1]}`>, NotNegative<`${P[0]} ${P[1]} ${P[2]} ${P[3]}`>] extends [
  true,
  true
]
  ? [ConvDim<In[0], P[0], P[1], K[0], D[0], T[0], Ceil>, ConvDim<In[1], P[2], P[3], K[1], D[1], T[1], Ceil>] extends [
      infer H extends number,
      infer W extends number
    ]
    ? H extends 0
      ? TooLarge<N, In, K, D, P>
      : W extends 0
        ? TooLarge<N, In, K, D, P>
        : readonly [B, C, H, W]
    : never
  : SizesError<N>

type TooLarge<
  N extends string,
  In extends Numbers2,
  K extends Numbers2,
  D extends Numbers2,
  P extends Numbers4
> = `${N}: the ${D extends readonly [1, 1] ? '' : 'dilated '}kernel ${Extents<K, D>} is larger than its padded input ${Add<In[0], Add<P[0], P[1]>>}x${Add<In[1], Add<P[2], P[3]>>}`
type Extents<K extends Numbers2, D extends Numbers2> = `${WindowExtent<K[0], D[0]>}x${WindowExtent<K[1], D[1]>}`
