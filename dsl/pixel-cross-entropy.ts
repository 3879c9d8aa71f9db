/** The shape of pixelCrossEntropy: at run time and, with the same sentences, in types. */
import * as E from 'fp-ts/Either'
import type { PixelCrossEntropyArguments } from './arguments'
import { wholes, type Option } from './options'
import { showShape, type Mismatch, type Shape, type ShowShape, type UnaryRule } from './shape'

export const pixelCrossEntropyShape: UnaryRule<PixelCrossEntropyArguments> = ({ ignore = 255, classWeights }, shape) =>
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

/** The type of what pixelCrossEntropyShape returns. */
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
