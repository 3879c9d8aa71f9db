/**
 * Shapes of ops that map whole images to other heights and widths: at run time and, with the same
 * sentences, in types.
 */
import * as E from 'fp-ts/Either'
import type { Mul, AreWholePositive } from '../shapes/arithmetic'
import { pair, areIntegers, type Height, type OptionValue, type Pair, type SideValue, type Width } from './options'
import { imageRule, showShape, type NoImage, type Shape } from '../shapes/shape'
import { local, reducesPixels, unary, type OpRecord } from './op-record'

/**
 * Options of resize, which takes one of `size`, `scale` and `to`. Pixels are mapped by the two
 * sizes alone, as by torch.nn.functional.interpolate with recompute_scale_factor, but exactly: of
 * nearest, PyTorch rounds the ratio of the sizes.
 */
export interface ResizeArguments {
  /** The interpolation of pixels between pixels. */
  readonly mode: 'bilinear' | 'nearest'
  /** Size of the output in pixels, one number or [height, width]. */
  readonly size?: Pair
  /**
   * Times the input's height and width, rounded down: one number or [height, width]. PyTorch's
   * scale_factor.
   */
  readonly scale?: Pair
  /** The height and width with which the innermost block, or the net, starts. */
  readonly to?: 'block'
  /**
   * Maps corner pixels onto corner pixels; bilinear only, false by default. PyTorch's
   * align_corners.
   */
  readonly alignCorners?: boolean
}

/** The options of `adaptiveAvgPool2d`. */
export interface AdaptiveAvgPool2dArguments {
  /** Output size in pixels, one number or [height, width]: PyTorch's output_size. */
  readonly out: Pair
}

const adaptivePoolShape = imageRule<AdaptiveAvgPool2dArguments>('adaptiveAvgPool2d', ({ out }, [batch, channels]) =>
  areIntegers(pair(out), 1) ? E.right([batch, channels, ...pair(out)]) : E.left('adaptiveAvgPool2d: sizes must be whole numbers above 0')
)

/** Scales as PyTorch does: floor(height scale) rows. */
const resizeShape = imageRule<ResizeArguments>('resize', (args, image, start) => {
  const { mode, size, scale, to, alignCorners } = args
  const [batch, channels, height, width] = image
  if (mode !== 'bilinear' && mode !== 'nearest') return E.left('resize: the mode must be bilinear or nearest')
  if ([size, scale, to].filter((given) => given !== undefined).length !== 1) return E.left('resize: takes one of size, scale and to')
  if (mode === 'nearest' && alignCorners === true) return E.left('resize: alignCorners is for bilinear only')
  if (size !== undefined)
    return areIntegers(pair(size), 1) ? E.right([batch, channels, ...pair(size)]) : E.left('resize: sizes must be whole numbers above 0')
  if (scale === undefined)
    return to === 'block' ? E.right([batch, channels, ...start.slice(2)]) : E.left(`resize: to must be block, not ${to}`)
  const [down, across] = pair(scale)
  if (!(down > 0 && across > 0)) return E.left('resize: scales must be above 0')
  const scaled = [Math.floor(height * down), Math.floor(width * across)]
  return areIntegers(scaled, 1)
    ? E.right([batch, channels, ...scaled])
    : E.left(`resize: the scale ${showShape(pair(scale))} leaves nothing of ${showShape([height, width])}`)
})

/** The record of `resize`. */
export const resize = {
  options: [
    ['mode', ''],
    ['size', ''],
    ['scale', 'x'],
    ['to', 'to-'],
    ['alignCorners', true, 'align-corners']
  ],
  required: ['mode'],
  segment: local,
  shape: unary(resizeShape)
} as const satisfies OpRecord<ResizeArguments>

/** The record of `adaptiveAvgPool2d`. */
export const adaptiveAvgPool2d = {
  options: [['out', '']],
  required: ['out'],
  segment: local,
  toOnePixel: reducesPixels,
  shape: unary(adaptivePoolShape)
} as const satisfies OpRecord<AdaptiveAvgPool2dArguments>

/** The type of what the rule of adaptiveAvgPool2d returns. */
export type AdaptivePoolShape<S extends Shape, A> = S extends readonly [infer B extends number, infer C extends number, number, number]
  ? Sized<'adaptiveAvgPool2d', B, C, OptionValue<A, 'out', number>>
  : NoImage<'adaptiveAvgPool2d', S>

type Sized<P extends string, B extends number, C extends number, Size> =
  AreWholePositive<`${Height<Size>} ${Width<Size>}`> extends true
    ? readonly [B, C, Height<Size>, Width<Size>]
    : `${P}: sizes must be whole numbers above 0`

/**
 * The type of what the rule of resize returns; what a fraction makes of an extent, only run time
 * knows.
 */
export type ResizeShape<S extends Shape, A, Start extends Shape> = S extends readonly [
  infer B extends number,
  infer C extends number,
  infer H extends number,
  infer W extends number
]
  ? ResizeArguments extends A
    ? readonly [B, C, number, number]
    : IsOne<Sizing<A>> extends false
      ? undefined extends A[Sizing<A>]
        ? readonly [B, C, number, number]
        : 'resize: takes one of size, scale and to'
      : [A['mode' & keyof A], OptionValue<A, 'alignCorners', false>] extends ['nearest', true]
        ? 'resize: alignCorners is for bilinear only'
        : 'size' extends Sizing<A>
          ? Sized<'resize', B, C, OptionValue<A, 'size', 1>>
          : 'scale' extends Sizing<A>
            ? Scaled<B, C, [H, W], OptionValue<A, 'scale', 1>>
            : Start extends readonly [number, number, infer Rows extends number, infer Columns extends number]
              ? readonly [B, C, SideValue<Rows>, SideValue<Columns>]
              : readonly [B, C, number, number]
  : NoImage<'resize', S>

/** Those of the options that say a size which may be given: not undefined alone. */
type Sizing<A> = {
  [K in SizeOption & keyof A]: [number] extends [A[K]] ? K : [A[K]] extends [undefined] ? never : K
}[SizeOption & keyof A]
type SizeOption = 'size' | 'scale' | 'to'

type IsOne<T, All = T> = [T] extends [never] ? false : T extends unknown ? ([All] extends [T] ? true : false) : never

type Scaled<B extends number, C extends number, In extends readonly [number, number], Scale> = `${Height<Scale>} ${Width<Scale>}` extends
  | `-${string}`
  | `${string} -${string}`
  | `0 ${string}`
  | `${string} 0`
  ? 'resize: scales must be above 0'
  : readonly [B, C, Multiple<In[0], Height<Scale>>, Multiple<In[1], Width<Scale>>]
type Multiple<Extent extends number, Scale extends number> = `${Scale}` extends `${string}.${string}` | `${string}e${string}`
  ? number
  : Mul<Extent, Scale>
