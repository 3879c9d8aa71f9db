import * as E from 'fp-ts/Either'
import { getLossFamily, parseLoss, type LossFamily } from './loss-terms'
import { reducesPixels, rowwise, unary, type OpRecord } from './op-record'
import { areIntegers, type NoOptions, type OptionValue } from './options'
import { showShape, type Mismatch, type Shape, type ShowShape, type UnaryRule } from '../shapes/shape'

/** The options of `pixelCrossEntropy`. */
export interface PixelCrossEntropyArguments {
  /** The label of pixels that do not count; 255 by default. PyTorch's ignore_index. */
  readonly ignore?: number
  /** A factor for each class, at least one above 0; 1 by default. PyTorch's weight. */
  readonly classWeights?: readonly number[]
}

/** The options of `classLoss`. */
export interface ClassLossArguments {
  /** The loss's formula (parseLoss), of losses of classes: cross-entropy, focal. */
  readonly loss: string
  /** A factor for each class, at least one above 0; 1 by default. PyTorch's weight. */
  readonly classWeights?: readonly number[]
}

/** The options of `pixelLoss` and `overlapLoss`. */
export interface PixelLossArguments extends PixelCrossEntropyArguments {
  /**
   * The loss's formula (parseLoss), of losses of classes, or of binary ones, to which each channel
   * is its class against all others.
   */
  readonly loss: string
}

/** The options of `valueLoss`. */
export interface ValueLossArguments {
  /** The loss's formula (parseLoss), of binary losses and of those of values. */
  readonly loss: string
}

const softmaxCrossEntropyShape: UnaryRule<unknown> = (_, shape) =>
  shape.length === 2 ? E.right([]) : E.left(`softmaxCrossEntropy: takes scores BxN, not ${showShape(shape)}`)

const meanSquaredErrorShape: UnaryRule<unknown> = (_, shape) =>
  shape.length === 0 ? E.left('meanSquaredError: nothing can follow a loss') : E.right([])

type PixelOptions = PixelCrossEntropyArguments

/** Why scores of so many classes cannot be compared in such a way; undefined where they can. */
const pixelFault = (op: string, { ignore = 255, classWeights }: PixelOptions, classes: number): string | undefined =>
  !areIntegers([ignore], -Infinity)
    ? `${op}: the ignored label must be a whole number`
    : classWeights?.some((weight) => !(weight >= 0 && weight < Infinity))
      ? `${op}: class weights must be at least 0`
      : classWeights !== undefined && classWeights.length !== classes
        ? `${op}: has ${classWeights.length} class weights for ${classes} classes`
        : classWeights?.every((weight) => weight === 0)
          ? `${op}: one of the class weights must be above 0`
          : undefined

const scalarUnless = (fault: string | undefined): E.Either<string, Shape> => (fault === undefined ? E.right([]) : E.left(fault))

const pixelCrossEntropyShape: UnaryRule<PixelCrossEntropyArguments> = (args, shape) =>
  shape.length !== 4
    ? E.left(`pixelCrossEntropy: takes scores BxNxHxW, not ${showShape(shape)}`)
    : scalarUnless(pixelFault('pixelCrossEntropy', args, shape[1]!))

/** Why an op cannot compute a formula, of whose families it takes some; undefined where it can. */
const formulaFault = (op: string, formula: string, takes: readonly LossFamily[], classes: number): string | undefined => {
  const parsed = parseLoss(formula)
  if (E.isLeft(parsed)) return `${op}: ${parsed.left}`
  const families = parsed.right.map(getLossFamily)
  const other = parsed.right.find((term) => !takes.includes(getLossFamily(term)))
  if (other !== undefined) return `${op}: ${other.name} is not for it; ${suggestLoss(getLossFamily(other))}`
  if (families.includes('classes') && families.includes('binary'))
    return `${op}: one loss takes probabilities by softmax and another by a sigmoid; take one kind`
  if (families.includes('classes') && classes === 1) return `${op}: one channel has no softmax; take binary-cross-entropy or binary-focal`
  if (takes.includes('overlap') && families.filter((family) => family === 'overlap').length !== 1)
    return `${op}: takes one of dice and tversky; without them take pixelLoss`
  return undefined
}

const suggestLoss = (family: LossFamily): string =>
  family === 'overlap'
    ? 'overlapLoss takes it, of images'
    : family === 'values'
      ? 'valueLoss takes it'
      : family === 'binary'
        ? 'of rows, valueLoss takes it'
        : 'classLoss takes it, of rows, and pixelLoss, of pixels'

const classLossShape: UnaryRule<ClassLossArguments> = ({ loss, classWeights }, shape) =>
  shape.length !== 2
    ? E.left(`classLoss: takes scores BxN, not ${showShape(shape)}`)
    : scalarUnless(
        pixelFault('classLoss', classWeights === undefined ? {} : { classWeights }, shape[1]!) ??
          formulaFault('classLoss', loss, ['classes'], shape[1]!)
      )

const pixelsShape =
  (op: string, takes: readonly LossFamily[]): UnaryRule<PixelLossArguments> =>
  (args, shape) =>
    shape.length !== 4
      ? E.left(`${op}: takes scores BxNxHxW, not ${showShape(shape)}`)
      : scalarUnless(pixelFault(op, args, shape[1]!) ?? formulaFault(op, args.loss, takes, shape[1]!))

const valueLossShape: UnaryRule<ValueLossArguments> = ({ loss }, shape) =>
  shape.length === 0
    ? E.left('valueLoss: nothing can follow a loss')
    : scalarUnless(formulaFault('valueLoss', loss, ['binary', 'values'], 2))

/** The record of `softmaxCrossEntropy`. */
export const softmaxCrossEntropy = {
  options: [],
  segment: { ...rowwise, reduces: true },
  loss: 'labels',
  shape: unary(softmaxCrossEntropyShape)
} as const satisfies OpRecord<NoOptions>

/** The record of `pixelCrossEntropy`. */
export const pixelCrossEntropy = {
  options: [
    ['ignore', 'ignore'],
    ['classWeights', 'weights']
  ],
  segment: reducesPixels,
  loss: 'pixel-labels',
  normalised: true,
  shape: unary(pixelCrossEntropyShape)
} as const satisfies OpRecord<PixelCrossEntropyArguments>

/** The record of `classLoss`, a loss of one vector of scores an image. */
export const classLoss = {
  options: [
    ['loss', ''],
    ['classWeights', 'weights']
  ],
  required: ['loss'],
  segment: { ...rowwise, reduces: true },
  loss: 'labels',
  normalised: true,
  shape: unary(classLossShape)
} as const satisfies OpRecord<ClassLossArguments>

const pixelOptions = [
  ['loss', ''],
  ['ignore', 'ignore'],
  ['classWeights', 'weights']
] as const

/** The record of `pixelLoss`, a loss of scores of pixels that is a mean over pixels. */
export const pixelLoss = {
  options: pixelOptions,
  required: ['loss'],
  segment: reducesPixels,
  loss: 'pixel-labels',
  normalised: true,
  shape: unary(pixelsShape('pixelLoss', ['classes', 'binary']))
} as const satisfies OpRecord<PixelLossArguments>

/**
 * The record of `overlapLoss`, a loss of scores of pixels that has overlaps in it, such as Dice.
 */
export const overlapLoss = {
  options: pixelOptions,
  required: ['loss'],
  segment: { ...reducesPixels, statistics: ['H', 'W'] },
  loss: 'pixel-labels',
  normalised: true,
  shape: unary(pixelsShape('overlapLoss', ['overlap', 'classes', 'binary']))
} as const satisfies OpRecord<PixelLossArguments>

/**
 * The record of `valueLoss`, of predictions and targets of one shape, whose elements each count by
 * themselves.
 */
export const valueLoss = {
  options: [['loss', '']],
  required: ['loss'],
  segment: reducesPixels,
  loss: 'values',
  normalised: true,
  shape: unary(valueLossShape)
} as const satisfies OpRecord<ValueLossArguments>

/** The record of `meanSquaredError`. */
export const meanSquaredError = {
  options: [],
  segment: reducesPixels,
  loss: 'values',
  shape: unary(meanSquaredErrorShape)
} as const satisfies OpRecord<NoOptions>

/** The type of what the rule of pixelCrossEntropy returns, and of the ops that take its options. */
export type PixelCrossEntropyShape<S extends Shape, A, P extends string = 'pixelCrossEntropy'> = S extends readonly [
  number,
  infer N extends number,
  number,
  number
]
  ? `${OptionValue<A, 'ignore', 255> & number}` extends `${string}.${string}`
    ? `${P}: the ignored label must be a whole number`
    : WeightedShape<P, N, A>
  : Mismatch<S, `${P}: takes scores BxNxHxW, not ${ShowShape<S>}`>

type WeightedShape<P extends string, N extends number, A> = A extends { readonly classWeights: infer W extends readonly number[] }
  ? [Extract<`${W[number]}`, `-${string}`>] extends [never]
    ? number extends N | W['length']
      ? readonly []
      : W['length'] extends N
        ? W[number] extends 0
          ? `${P}: one of the class weights must be above 0`
          : readonly []
        : `${P}: has ${W['length']} class weights for ${N} classes`
    : `${P}: class weights must be at least 0`
  : readonly []

/** The type of what the rule of classLoss returns; of formulas the run time speaks. */
export type ClassLossShape<S extends Shape, A> = S extends readonly [number, infer N extends number]
  ? WeightedShape<'classLoss', N, A>
  : Mismatch<S, `classLoss: takes scores BxN, not ${ShowShape<S>}`>

/** The type of what the rule of valueLoss returns; of formulas the run time speaks. */
export type ValueLossShape<S extends Shape> = S extends readonly [] ? 'valueLoss: nothing can follow a loss' : readonly []

/** The type of what the rule of softmaxCrossEntropy returns. */
export type SoftmaxCrossEntropyShape<S extends Shape> = S extends readonly [number, number]
  ? readonly []
  : Mismatch<S, `softmaxCrossEntropy: takes scores BxN, not ${ShowShape<S>}`>

/** The type of what the rule of meanSquaredError returns. */
export type MeanSquaredErrorShape<S extends Shape> = S extends readonly [] ? 'meanSquaredError: nothing can follow a loss' : readonly []
