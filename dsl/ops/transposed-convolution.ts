/** The shape of convTranspose2d: at run time and, with the same sentences, in types. */
import * as E from 'fp-ts/Either'
import type { Add, Lte, Mul, NotNegative, Sub, AreWholePositive, WindowExtent } from '../shapes/arithmetic'
import {
  validateGroups,
  pair,
  sizesError,
  areIntegers,
  type GroupsError,
  type Height,
  type OptionValue,
  type Pair,
  type SizesError,
  type Width
} from './options'
import { imageRule, showShape, type NoImage, type Shape } from '../shapes/shape'
import { local, unary, type OpRecord } from './op-record'
import { windowExtent } from './window'

/**
 * Options of a transposed convolution of [B, C, H, W], with weights [C, out / groups, kh, kw] as in
 * PyTorch.
 */
export interface ConvTranspose2dArguments {
  /** Output channels: PyTorch's out_channels. */
  readonly out: number
  /** Kernel size in pixels, one number or [height, width]: PyTorch's kernel_size. */
  readonly k: Pair
  /** Stride in pixels of the output, one number or [height, width]; 1 by default. */
  readonly s?: Pair
  /**
   * Rows and columns taken away on every side of the output, one number or [height, width]; 0 by
   * default. PyTorch's padding.
   */
  readonly p?: Pair
  /**
   * Rows and columns added at the bottom and right, one number or [height, width]; 0 by default.
   * PyTorch's output_padding.
   */
  readonly outputPadding?: Pair
  /**
   * Dilation: pixels from one tap of the kernel to the next, one number or [height, width]; 1 by
   * default.
   */
  readonly d?: Pair
  /** Groups of channels that are convolved by themselves; 1 by default. */
  readonly groups?: number
  /** Adds a learnt bias to each output channel; true by default. */
  readonly bias?: boolean
}

const op = 'convTranspose2d'

type Two = readonly [height: number, width: number]

/**
 * The error where the output padding reaches between stride and dilation: PyTorch leaves a border
 * of nothing but bias there.
 */
const unreachedBorderError = (added: Two, reach: Two): string =>
  `${op}: the output padding ${showShape(added)} adds a border that no window reaches: keep it below stride and padding together, ${showShape(reach)}`

/** PyTorch's: (H - 1) s - 2 p + d (k - 1) + outputPadding + 1 rows. */
const transposedShape = imageRule<ConvTranspose2dArguments>(op, (args, [batch, channels, height, width]) => {
  const { out, groups = 1 } = args
  const [kernel, stride, dilation] = [pair(args.k), pair(args.s ?? 1), pair(args.d ?? 1)]
  const [padding, added] = [pair(args.p ?? 0), pair(args.outputPadding ?? 0)]
  if (!areIntegers([out, groups, ...kernel, ...stride, ...dilation], 1) || !areIntegers([...padding, ...added], 0))
    return E.left(sizesError(op))
  const mistake = validateGroups(op, channels, out, groups)
  if (mistake !== undefined) return E.left(mistake)
  const isTooMuch = (side: 0 | 1): boolean => added[side] >= stride[side] && added[side] >= dilation[side]
  if (isTooMuch(0) || isTooMuch(1))
    return E.left(`${op}: the output padding ${showShape(added)} is not below the stride ${showShape(stride)} or the dilation`)
  if (added[0] >= stride[0] + padding[0] || added[1] >= stride[1] + padding[1])
    return E.left(unreachedBorderError(added, [stride[0] + padding[0], stride[1] + padding[1]]))
  const spread = (extent: number, side: 0 | 1): number =>
    (extent - 1) * stride[side] + windowExtent(kernel[side], dilation[side]) + added[side]
  const whole = [spread(height, 0), spread(width, 1)] as const
  return whole[0] > 2 * padding[0] && whole[1] > 2 * padding[1]
    ? E.right([batch, out, whole[0] - 2 * padding[0], whole[1] - 2 * padding[1]])
    : E.left(`${op}: the padding ${showShape(padding)} takes away all of its ${showShape(whole)}`)
})

/** The window of a transposed convolution, which slides over its output. */
export const toTransposedWindow = (args: ConvTranspose2dArguments) => ({
  kernel: pair(args.k),
  stride: pair(args.s ?? 1),
  dilation: pair(args.d ?? 1),
  /** Before and after, along height and width. */
  padding: pair(args.p ?? 0),
  outputPadding: pair(args.outputPadding ?? 0)
})

/** The record of `convTranspose2d`. */
export const convTranspose2d = {
  options: [
    ['out', ''],
    ['k', 'k'],
    ['s', 's'],
    ['p', 'p'],
    ['outputPadding', 'op'],
    ['d', 'd'],
    ['groups', 'g'],
    ['bias', false, 'no-bias']
  ],
  required: ['out', 'k'],
  segment: local,
  shape: unary(transposedShape)
} as const satisfies OpRecord<ConvTranspose2dArguments>

type PairOf<A, K extends string, Default> = OptionValue<A, K, Default> extends infer P ? readonly [Height<P>, Width<P>] : never

/** The type of what the rule of convTranspose2d returns. */
export type TransposedShape<S extends Shape, A> = S extends readonly [
  infer B extends number,
  infer C extends number,
  infer H extends number,
  infer W extends number
]
  ? Transposed<
      readonly [B, C, H, W],
      OptionValue<A, 'out', number> & number,
      OptionValue<A, 'groups', 1> & number,
      PairOf<A, 'k', 1>,
      PairOf<A, 's', 1>,
      PairOf<A, 'd', 1>,
      PairOf<A, 'p', 0>,
      PairOf<A, 'outputPadding', 0>
    >
  : NoImage<'convTranspose2d', S>

type Transposed<
  S extends readonly [number, number, number, number],
  Out extends number,
  G extends number,
  K extends Two,
  T extends Two,
  D extends Two,
  P extends Two,
  Added extends Two
> = [
  AreWholePositive<`${Out} ${G} ${K[0]} ${K[1]} ${T[0]} ${T[1]} ${D[0]} ${D[1]}`>,
  NotNegative<`${P[0]} ${P[1]} ${Added[0]} ${Added[1]}`>
] extends [true, true]
  ? GroupsError<'convTranspose2d', S[1], Out, G> extends infer Mistake
    ? Mistake extends string
      ? Mistake
      : true extends TooMuch<Added[0], T[0], D[0]> | TooMuch<Added[1], T[1], D[1]>
        ? `convTranspose2d: the output padding ${Added[0]}x${Added[1]} is not below the stride ${T[0]}x${T[1]} or the dilation`
        : true extends Unreached<Added[0], T[0], P[0]> | Unreached<Added[1], T[1], P[1]>
          ? `convTranspose2d: the output padding ${Added[0]}x${Added[1]} adds a border that no window reaches: keep it below stride and padding together, ${Add<T[0], P[0]>}x${Add<T[1], P[1]>}`
          : readonly [Spread<S[2], K[0], T[0], D[0], Added[0]>, Spread<S[3], K[1], T[1], D[1], Added[1]>] extends infer Whole extends Two
            ? true extends (Lte<Whole[0], Mul<2, P[0]>> & Known<Whole[0] | P[0]>) | (Lte<Whole[1], Mul<2, P[1]>> & Known<Whole[1] | P[1]>)
              ? `convTranspose2d: the padding ${P[0]}x${P[1]} takes away all of its ${Whole[0]}x${Whole[1]}`
              : readonly [S[0], Out, Sub<Whole[0], Mul<2, P[0]>>, Sub<Whole[1], Mul<2, P[1]>>]
            : never
    : never
  : SizesError<'convTranspose2d'>

/** false where a number is not known: Lte answers true there. */
type Known<N extends number> = number extends N ? false : true
type TooMuch<Added extends number, Stride extends number, Dilation extends number> = Added extends 0
  ? false
  : number extends Added | Stride | Dilation
    ? false
    : [Lte<Stride, Added>, Lte<Dilation, Added>] extends [true, true]
      ? true
      : false
type Unreached<Added extends number, Stride extends number, P extends number> = Added extends 0
  ? false
  : number extends Added | Stride | P
    ? false
    : Lte<Add<Stride, P>, Added>
/** Pixels along one direction before the padding is taken away. */
type Spread<In extends number, K extends number, Stride extends number, D extends number, Added extends number> = Add<
  Mul<Sub<In, 1>, Stride>,
  Add<WindowExtent<K, D>, Added>
>
