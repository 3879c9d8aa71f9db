import * as E from 'fp-ts/Either'
import type { Shape, UnaryRule } from '../shapes/shape'
import { pixelwise, pixelwiseInPlace, unary, type OpRecord } from './op-record'
import type { NoOptions, OptionValue } from './options'

/** The options of `leakyRelu`. */
export interface LeakyReluArguments {
  /** Slope below 0; 0.01 by default. PyTorch's negative_slope. */
  readonly slope?: number
}

/** The options of `dropout`. */
export interface DropoutArguments {
  /** Probability with which an element is zeroed, from 0 to below 1: PyTorch's p. */
  readonly rate: number
}

/** The rule of an op that takes a tensor of any rank, and keeps its shape. */
export const elementwise =
  (op: string): UnaryRule<unknown> =>
  (_, shape) =>
    shape.length === 0 ? E.left(`${op}: nothing can follow a loss`) : E.right(shape)

const leakyReluShape: UnaryRule<LeakyReluArguments> = ({ slope = 0.01 }, shape) =>
  slope >= 0 ? elementwise('leakyRelu')({}, shape, shape) : E.left(`leakyRelu: the slope ${slope} is below 0`)

const dropoutShape: UnaryRule<DropoutArguments> = (args, shape) =>
  args.rate >= 0 && args.rate < 1 ? elementwise('dropout')(args, shape, shape) : E.left(`dropout: the rate ${args.rate} is not in [0, 1)`)

/** The record of `relu`. */
export const relu = {
  options: [],
  segment: pixelwiseInPlace,
  rectifies: true,
  shape: unary(elementwise('relu'))
} as const satisfies OpRecord<NoOptions>

/** The record of `leakyRelu`. */
export const leakyRelu = {
  options: [['slope', '']],
  segment: pixelwiseInPlace,
  rectifies: true,
  shape: unary(leakyReluShape)
} as const satisfies OpRecord<LeakyReluArguments>

/** The record of `dropout`. */
export const dropout = {
  options: [['rate', '']],
  required: ['rate'],
  segment: pixelwise,
  shape: unary(dropoutShape)
} as const satisfies OpRecord<DropoutArguments>

/** The type of what the rule of an op that takes a tensor of any rank returns. */
export type Elementwise<P extends string, S extends Shape> = S extends readonly [] ? `${P}: nothing can follow a loss` : S

/** The type of what the rule of dropout returns. */
export type DropoutShape<S extends Shape, A> =
  OptionValue<A, 'rate', 0> extends infer Rate extends number
    ? `${Rate}` extends '0' | `0.${string}` | `${number}e-${number}` | (number extends Rate ? string : never)
      ? Elementwise<'dropout', S>
      : `dropout: the rate ${Rate} is not in [0, 1)`
    : never

/** The type of what the rule of leakyRelu returns. */
export type LeakyReluShape<S extends Shape, A> =
  OptionValue<A, 'slope', 0> extends infer Slope extends number
    ? `${Slope}` extends `-${string}`
      ? `leakyRelu: the slope ${Slope} is below 0`
      : Elementwise<'leakyRelu', S>
    : never
