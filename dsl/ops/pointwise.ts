import * as E from 'fp-ts/Either'
import { reads, validateExpression, type Expression, type Leaf } from '../expression/expression'
import type { Shape, UnaryRule } from '../shapes/shape'
import { elementwise, type Elementwise } from './elementwise'
import { pixelwise, unary, type OpRecord } from './op-record'

/** A parameter of a pointwise function. */
export interface PointwiseParameter {
  /** The value with which it starts. */
  readonly initial: number
  /** Learns one parameter for each channel, instead of one for all; false by default. */
  readonly perChannel?: boolean
}

/** The options of `pointwise`: a function of single elements, as data. */
export interface PointwiseArguments {
  /**
   * The function's name in plans and messages: a name, and options that it was made with, such as
   * "elu 0.5".
   */
  readonly function: string
  /** The function's value, as an expression of its `input`. */
  readonly expression: Expression
  /**
   * The function's derivative as an expression of its output, which is this expression's `input`;
   * where it is given, the input need not be kept.
   */
  readonly derivativeOfOutput?: Expression
  /** PyTorch's weight, which the expression reads. */
  readonly weight?: PointwiseParameter
  /** PyTorch's bias, which the expression reads. */
  readonly bias?: PointwiseParameter
}

/** The name without options. */
const parseName = (text: string): string => text.split(' ')[0]!

const readsAnyOf = (expression: Expression, leaves: readonly Leaf[]): Leaf | undefined => leaves.find((leaf) => reads(expression, leaf))

const pointwiseShape: UnaryRule<PointwiseArguments> = (args, shape) => {
  const { expression, derivativeOfOutput, weight, bias } = args
  const name = parseName(args.function)
  const mistake = validateExpression(expression) ?? (derivativeOfOutput && validateExpression(derivativeOfOutput))
  if (mistake !== undefined) return E.left(`${name}: its expression ${mistake}`)
  const foreign = readsAnyOf(expression, ['second', 'gradient'])
  if (foreign !== undefined) return E.left(`${name}: its expression reads ${foreign}, which there is not`)
  const foreignOfOutput = derivativeOfOutput && readsAnyOf(derivativeOfOutput, ['second', 'gradient', 'weight', 'bias'])
  if (foreignOfOutput !== undefined) return E.left(`${name}: the derivative of its output reads ${foreignOfOutput}, which there is not`)
  for (const [parameter, declared] of [['weight', weight] as const, ['bias', bias] as const]) {
    if (reads(expression, parameter) !== (declared !== undefined))
      return E.left(
        `${name}: ${declared === undefined ? `reads a ${parameter} that it does not declare` : `declares a ${parameter} that it does not read`}`
      )
    if (declared !== undefined && !Number.isFinite(declared.initial))
      return E.left(`${name}: the initial ${parameter} must be a finite number`)
  }
  return elementwise(name)({}, shape, shape)
}

/** The record of `pointwise`. */
export const pointwise = {
  options: [
    ['function', ''],
    ['expression', ''],
    ['derivativeOfOutput', ''],
    ['weight', ''],
    ['bias', '']
  ],
  required: ['function', 'expression'],
  segment: pixelwise,
  shape: unary(pointwiseShape)
} as const satisfies OpRecord<PointwiseArguments>

/** The type of what the rule of pointwise returns. */
export type PointwiseShape<S extends Shape, A> = A extends { readonly function: infer Text extends string }
  ? Elementwise<Text extends `${infer Name} ${string}` ? Name : Text, S>
  : Elementwise<'pointwise', S>
