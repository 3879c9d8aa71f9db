import type { Add, ConvDim, Lte, Mul, NotNegative, Whole, WindowExtent } from './arithmetic'
import type { Op } from './arguments'
import type { AddShape, ConcatShape } from './joins'
import type { BatchNormShape, GroupNormShape, InstanceNormShape } from './normalisation'
import type { GroupsMistake, Height, Option, Size, SizesMistake, Width } from './options'
import type { PixelCrossEntropyShape } from './pixel-cross-entropy'
import type { AdaptivePoolShape, ResizeShape } from './resampling'
import type { Mismatch, NoImage, Shape, ShowShape } from './shape'
import type { TransposedShape } from './transposed-convolution'
import type { Bad } from './tensor'

/**
 * The shape of each op's output, or the sentence that says why there is none; one row an op. What shape-rules.ts does
 * at run time, with the same sentences in the same order.
 */
export interface ShapeRules<S extends Shape, A, Start extends Shape, Inputs extends readonly Shape[]> {
  readonly conv2d: ConvolutionShape<S, A>
  readonly relu: Pointwise<'relu', S>
  readonly leakyRelu: LeakyRelu<S, A>
  readonly maxPool2d: PoolShape<'maxPool2d', S, A>
  readonly avgPool2d: PoolShape<'avgPool2d', S, A>
  readonly globalAvgPool: S extends readonly [infer B extends number, infer C extends number, number, number]
    ? readonly [B, C]
    : NoImage<'globalAvgPool', S>
  readonly flatten: S extends readonly [infer B extends number, infer C extends number, infer H extends number, infer W extends number]
    ? readonly [B, Mul<C, Mul<H, W>>]
    : NoImage<'flatten', S>
  readonly linear: LinearShape<S, A>
  readonly dropout: Dropout<S, A>
  readonly convTranspose2d: TransposedShape<S, A>
  readonly batchNorm: BatchNormShape<S, A>
  readonly groupNorm: GroupNormShape<S, A>
  readonly instanceNorm: InstanceNormShape<S, A>
  readonly sigmoid: Pointwise<'sigmoid', S>
  readonly tanh: Pointwise<'tanh', S>
  readonly silu: Pointwise<'silu', S>
  readonly gelu: Pointwise<'gelu', S>
  readonly resize: ResizeShape<S, A, Start>
  readonly adaptiveAvgPool2d: AdaptivePoolShape<S, A>
  readonly add: AddShape<Inputs>
  readonly concat: ConcatShape<Inputs>
  readonly softmaxCrossEntropy: S extends readonly [number, number]
    ? readonly []
    : Mismatch<S, `softmaxCrossEntropy: takes scores BxN, not ${ShowShape<S>}`>
  readonly pixelCrossEntropy: PixelCrossEntropyShape<S, A>
  readonly meanSquaredError: S extends readonly [] ? 'meanSquaredError: nothing can follow a loss' : readonly []
}

/** What a net can start from: S, or a mistake. */
export type Images<S extends Shape> = S extends readonly [
  infer B extends number,
  infer C extends number,
  infer H extends number,
  infer W extends number
]
  ? Whole<`${Size<B>} ${Size<C>} ${Size<H>} ${Size<W>}`> extends true
    ? S
    : Bad<`input: ${ShowShape<S>} must be whole numbers above 0`>
  : number extends S['length']
    ? S
    : Bad<`input: takes images BxCxHxW, not ${ShowShape<S>}`>

/**
 * Looks an op up; an op without a row does not compile. Inputs: the shapes that it joins, or the only one; Start: the shape with which the
 * innermost block, or the net, starts.
 */
export type OutputShape<
  P extends Op,
  S extends Shape,
  A,
  Start extends Shape = Shape,
  Inputs extends readonly Shape[] = readonly [S]
> = ShapeRules<S, A, Start, Inputs>[P]

type Pointwise<P extends Op, S extends Shape> = S extends readonly [] ? `${P}: nothing can follow a loss` : S

type Sides<P> = P extends number
  ? readonly [P, P, P, P]
  : P extends readonly [infer H, infer W]
    ? readonly [Size<H>, Size<H>, Size<W>, Size<W>]
    : P extends readonly [infer Top, infer Bottom, infer Left, infer Right]
      ? readonly [Size<Top>, Size<Bottom>, Size<Left>, Size<Right>]
      : readonly [number, number, number, number]

type Numbers2 = readonly [height: number, width: number]
type Numbers4 = readonly [top: number, bottom: number, left: number, right: number]
type Kernel<A> = readonly [Height<Option<A, 'k', 1>>, Width<Option<A, 'k', 1>>]
type Stride<A, Default> = readonly [Height<Option<A, 's', Default>>, Width<Option<A, 's', Default>>]
type Dilation<A> = readonly [Height<Option<A, 'd', 1>>, Width<Option<A, 'd', 1>>]
type Pads<A> = Sides<Option<A, 'p', 0>>

type ConvolutionShape<S extends Shape, A> = S extends readonly [
  infer B extends number,
  infer C extends number,
  infer H extends number,
  infer W extends number
]
  ? Convolution<B, C, [H, W], Option<A, 'out', number>, Option<A, 'groups', 1>, Kernel<A>, Stride<A, 1>, Dilation<A>, Pads<A>>
  : NoImage<'conv2d', S>

type Convolution<
  B extends number,
  C extends number,
  In extends Numbers2,
  Out,
  Groups,
  K extends Numbers2,
  T extends Numbers2,
  D extends Numbers2,
  P extends Numbers4
> = [Out, Groups] extends [infer O extends number, infer G extends number]
  ? Whole<`${O} ${G}`> extends false
    ? SizesMistake<'conv2d'>
    : GroupsMistake<'conv2d', C, O, G> extends infer Mistake
      ? Mistake extends string
        ? Mistake
        : Windowed<'conv2d', B, O, In, K, T, D, P, false>
      : never
  : never

type PoolShape<N extends 'maxPool2d' | 'avgPool2d', S extends Shape, A> = S extends readonly [
  infer B extends number,
  infer C extends number,
  infer H extends number,
  infer W extends number
]
  ? Windowed<
      N,
      B,
      C,
      [H, W],
      Kernel<A>,
      Stride<A, Option<A, 'k', 1>>,
      Dilation<A>,
      Pads<A>,
      Option<A, 'ceilMode', false> & boolean
    > extends infer Y
    ? Y extends Shape
      ? OverHalf<Pads<A>, Kernel<A>> extends true
        ? `${N}: a padding is more than half of the kernel ${ShowShape<Kernel<A>>}`
        : Y
      : Y
    : never
  : NoImage<N, S>

type OverHalf<P extends Numbers4, K extends Numbers2> = P extends readonly [0, 0, 0, 0]
  ? false
  : [Lte<Mul<2, P[0]>, K[0]>, Lte<Mul<2, P[1]>, K[0]>, Lte<Mul<2, P[2]>, K[1]>, Lte<Mul<2, P[3]>, K[1]>] extends [true, true, true, true]
    ? false
    : true

type Windowed<
  N extends Op,
  B extends number,
  C extends number,
  In extends Numbers2,
  K extends Numbers2,
  T extends Numbers2,
  D extends Numbers2,
  P extends Numbers4,
  Ceil extends boolean
> = [Whole<`${K[0]} ${K[1]} ${T[0]} ${T[1]} ${D[0]} ${D[1]}`>, NotNegative<`${P[0]} ${P[1]} ${P[2]} ${P[3]}`>] extends [true, true]
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
  : SizesMistake<N>

type TooLarge<
  N extends Op,
  In extends Numbers2,
  K extends Numbers2,
  D extends Numbers2,
  P extends Numbers4
> = `${N}: the ${D extends readonly [1, 1] ? '' : 'dilated '}kernel ${Extents<K, D>} is larger than its padded input ${Add<In[0], Add<P[0], P[1]>>}x${Add<In[1], Add<P[2], P[3]>>}`
type Extents<K extends Numbers2, D extends Numbers2> = `${WindowExtent<K[0], D[0]>}x${WindowExtent<K[1], D[1]>}`

type LinearShape<S extends Shape, A> = S extends readonly [infer B extends number, infer Features extends number]
  ? [Option<A, 'out', number>, Option<A, 'in', Features>] extends [infer Out extends number, infer In extends number]
    ? Whole<`${Out} ${In}`> extends false
      ? 'linear: sizes must be whole numbers above 0'
      : number extends Features | In
        ? readonly [B, Out]
        : In extends Features
          ? readonly [B, Out]
          : `linear: takes ${In} features, not ${Features}`
    : never
  : Mismatch<S, `linear: takes features BxN, not ${ShowShape<S>}`>

type Dropout<S extends Shape, A> =
  Option<A, 'rate', 0> extends infer Rate extends number
    ? `${Rate}` extends '0' | `0.${string}` | `${number}e-${number}` | (number extends Rate ? string : never)
      ? Pointwise<'dropout', S>
      : `dropout: the rate ${Rate} is not in [0, 1)`
    : never

type LeakyRelu<S extends Shape, A> =
  Option<A, 'slope', 0> extends infer Slope extends number
    ? `${Slope}` extends `-${string}`
      ? `leakyRelu: the slope ${Slope} is below 0`
      : Pointwise<'leakyRelu', S>
    : never
