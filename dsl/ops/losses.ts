import * as E from 'fp-ts/Either'
import { reducesPixels, rowwise, unary, type OpRecord } from './op-record'
import { wholes, type NoOptions, type Option } from './options'
import { showShape, type Mismatch, type Shape, type ShowShape, type UnaryRule } from '../shapes/shape'

export interface PixelCrossEntropyArguments {
  /** The label of pixels that do not count; 255 by default. PyTorch's ignore_index. */
  readonly ignore?: number
  /** A factor for each class, at least one above 0; 1 by default. PyTorch's weight. */
  readonly classWeights?: readonly number[]
}

const softmaxCrossEntropyShape: UnaryRule<unknown> = (_, shape) =>
  shape.length === 2 ? E.right([]) : E.left(`softmaxCrossEntropy: takes scores BxN, not ${showShape(shape)}`)

const meanSquaredErrorShape: UnaryRule<unknown> = (_, shape) =>
  shape.length === 0 ? E.left('meanSquaredError: nothing can follow a loss') : E.right([])

const pixelCrossEntropyShape: UnaryRule<PixelCrossEntropyArguments> = ({ ignore = 255, classWeights }, shape) =>
  shape.length !== 4
    ? E.left(`pixelCrossEntropy: takes scores BxNxHxW, not ${showShape(shape)}`)
    : !wholes([ignore], -Infinity)
      ? E.left('pixelCrossEntropy: the ignored label must be a whole number')
      : classWeights?.some((weight) => !(weight >= 0 && weight < Infinity))
        ? E.left('pixelCrossEntropy: class weights must be at least 0')
        : classWeights !== undefined && classWeights.length !== shape[1]
          ? E.left(`pixelCrossEntropy: has ${classWeights.length} class weights for ${shape[1]} classes`)
          : classWeights?.every((weight) => weight === 0)
            ? E.left('pixelCrossEntropy: one of the class weights must be above 0')
            : E.right([])

export const softmaxCrossEntropy = {
  options: [],
  segment: { ...rowwise, reduces: true },
  loss: 'labels',
  shape: unary(softmaxCrossEntropyShape)
} as const satisfies OpRecord<NoOptions>

export const pixelCrossEntropy = {
  options: [
    ['ignore', 'ignore'],
    ['classWeights', 'weights']
  ],
  segment: reducesPixels,
  loss: 'pixel-labels',
  shape: unary(pixelCrossEntropyShape)
} as const satisfies OpRecord<PixelCrossEntropyArguments>

export const meanSquaredError = {
  options: [],
  segment: reducesPixels,
  loss: 'values',
  shape: unary(meanSquaredErrorShape)
} as const satisfies OpRecord<NoOptions>

/** The type of what the rule of pixelCrossEntropy returns. */
export type PixelCrossEntropyShape<S extends Shape, A> = S extends readonly [number, infer N extends number, number, number]
  ? `${Option<A, 'ignore', 255> & number}` extends `${string}.${string}`
    ? 'pixelCrossEntropy: the ignored label must be a whole number'
    : A extends { readonly classWeights: infer W extends readonly number[] }
      ? [Extract<`${W[number]}`, `-${string}`>] extends [never]
        ? number extends N | W['length']
          ? readonly []
          : W['length'] extends N
            ? W[number] extends 0
              ? 'pixelCrossEntropy: one of the class weights must be above 0'
              : readonly []
            : `pixelCrossEntropy: has ${W['length']} class weights for ${N} classes`
        : 'pixelCrossEntropy: class weights must be at least 0'
      : readonly []
  : Mismatch<S, `pixelCrossEntropy: takes scores BxNxHxW, not ${ShowShape<S>}`>

/** The type of what the rule of softmaxCrossEntropy returns. */
export type SoftmaxCrossEntropyShape<S extends Shape> = S extends readonly [number, number]
  ? readonly []
  : Mismatch<S, `softmaxCrossEntropy: takes scores BxN, not ${ShowShape<S>}`>

/** The type of what the rule of meanSquaredError returns. */
export type MeanSquaredErrorShape<S extends Shape> = S extends readonly [] ? 'meanSquaredError: nothing can follow a loss' : readonly []
