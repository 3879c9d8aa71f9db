import * as E from 'fp-ts/Either'
import type { Mul, AreWholePositive } from '../shapes/arithmetic'
import { imageRule, showShape, type Mismatch, type NoImage, type Shape, type ShowShape, type UnaryRule } from '../shapes/shape'
import { rowwise, unary, type OpRecord } from './op-record'
import { areIntegers, type NoOptions, type OptionValue } from './options'

/** The options of `linear`. */
export interface LinearArguments {
  /** Output features: PyTorch's out_features. */
  readonly out: number
  /** Features expected, checked when given; those that come by default. PyTorch's in_features. */
  readonly in?: number
  /** Adds a learnt bias to each output feature; true by default. */
  readonly bias?: boolean
}

/** What makes features of an image. */
const remedy = ': put flatten or globalAvgPool before it'

const linearShape: UnaryRule<LinearArguments> = (args, shape) => {
  const [batch, features] = shape
  return shape.length !== 2
    ? E.left(`linear: takes features BxN, not ${showShape(shape)}${shape.length === 4 ? remedy : ''}`)
    : !areIntegers([args.out, args.in ?? 1], 1)
      ? E.left('linear: sizes must be whole numbers above 0')
      : args.in !== undefined && args.in !== features
        ? E.left(`linear: takes ${args.in} features, not ${features}`)
        : E.right([batch!, args.out])
}

/** The record of `linear`. */
export const linear = {
  options: [
    ['out', ''],
    ['in', 'in'],
    ['bias', false, 'no-bias']
  ],
  required: ['out'],
  segment: rowwise,
  shape: unary(linearShape)
} as const satisfies OpRecord<LinearArguments>

/** The record of `flatten`, which makes [B, C * H * W] of [B, C, H, W]. */
export const flatten = {
  options: [],
  segment: { ...rowwise, inPlace: true },
  shape: unary(imageRule('flatten', (_, [batch, channels, height, width]) => E.right([batch, channels * height * width])))
} as const satisfies OpRecord<NoOptions>

/** The type of what the rule of linear returns. */
export type LinearShape<S extends Shape, A> = S extends readonly [infer B extends number, infer Features extends number]
  ? [OptionValue<A, 'out', number>, OptionValue<A, 'in', Features>] extends [infer Out extends number, infer In extends number]
    ? AreWholePositive<`${Out} ${In}`> extends false
      ? 'linear: sizes must be whole numbers above 0'
      : number extends Features | In
        ? readonly [B, Out]
        : In extends Features
          ? readonly [B, Out]
          : `linear: takes ${In} features, not ${Features}`
    : never
  : Mismatch<S, `linear: takes features BxN, not ${ShowShape<S>}${S['length'] extends 4 ? typeof remedy : ''}`>

/** The type of what the rule of flatten returns. */
export type FlattenShape<S extends Shape> = S extends readonly [
  infer B extends number,
  infer C extends number,
  infer H extends number,
  infer W extends number
]
  ? readonly [B, Mul<C, Mul<H, W>>]
  : NoImage<'flatten', S>
