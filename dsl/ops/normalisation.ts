/**
 * Shapes of ops that normalise by statistics of an image: at run time and, with the same sentences,
 * in types.
 */
import * as E from 'fp-ts/Either'
import type { Divides, AreWholePositive } from '../shapes/arithmetic'
import { areIntegers, type OptionValue } from './options'
import { imageRule, showShape, type Mismatch, type NoImage, type Shape, type ShowShape, type UnaryRule } from '../shapes/shape'
import { allDims, pixelwise, unary, type OpRecord } from './op-record'

/** The options of `batchNorm`. */
export interface BatchNormArguments {
  /** Added to the variance; 1e-5 by default. */
  readonly eps?: number
  /** Weight of the step's statistics in the running ones, from 0 to 1; 0.1 by default. */
  readonly momentum?: number
  /** Learns a weight and a bias for each channel; true by default. */
  readonly affine?: boolean
  /**
   * Normalises with the running statistics in training too, and leaves them as they are; false by
   * default.
   */
  readonly frozen?: boolean
}

/** The options of `groupNorm`. */
export interface GroupNormArguments {
  /** Groups of channels with statistics of their own: PyTorch's num_groups. */
  readonly groups: number
  /** Added to the variance; 1e-5 by default. */
  readonly eps?: number
  /** Learns a weight and a bias for each channel; true by default. */
  readonly affine?: boolean
}

/** The options of `instanceNorm`. */
export interface InstanceNormArguments {
  /** Added to the variance; 1e-5 by default. */
  readonly eps?: number
  /** Learns a weight and a bias for each channel; false by default, as in PyTorch. */
  readonly affine?: boolean
}

type Normalisation = 'batchNorm' | 'groupNorm' | 'instanceNorm'

const validateEps = (op: Normalisation, eps: number): string | undefined => (eps > 0 ? undefined : `${op}: eps must be above 0, not ${eps}`)

const noVarianceError = (op: Normalisation, image: Shape): string =>
  `${op}: one value per ${op === 'groupNorm' ? 'group' : 'channel'}, ${showShape(image)}, has no variance; give it more pixels${op === 'batchNorm' ? ' or images, or freeze it' : ''}`

const valuesOfChannel = ([batch, , ...pixels]: Shape): number => pixels.reduce((all, extent) => all * extent, batch!)

const kept = (image: Shape, mistake: string | undefined): E.Either<string, Shape> =>
  mistake === undefined ? E.right(image) : E.left(mistake)

const takesEither = 'batchNorm: takes an image BxCxHxW or features BxC, not'

const batchNormShape: UnaryRule<BatchNormArguments> = ({ eps = 1, momentum = 1, frozen = false }, shape) =>
  shape.length !== 4 && shape.length !== 2
    ? E.left(`${takesEither} ${showShape(shape)}`)
    : kept(
        shape,
        validateEps('batchNorm', eps) ??
          (!(momentum >= 0 && momentum <= 1)
            ? `batchNorm: the momentum ${momentum} is not in [0, 1]`
            : !frozen && valuesOfChannel(shape) === 1
              ? noVarianceError('batchNorm', shape)
              : undefined)
      )

const groupNormShape = imageRule<GroupNormArguments>('groupNorm', ({ groups, eps = 1 }, image) =>
  kept(
    image,
    validateEps('groupNorm', eps) ??
      (!areIntegers([groups], 1)
        ? 'groupNorm: groups must be a whole number above 0'
        : image[1] % groups !== 0
          ? `groupNorm: its ${image[1]} channels do not divide into ${groups} groups`
          : image[1] === groups && valuesOfChannel(image) === 1
            ? noVarianceError('groupNorm', image)
            : undefined)
  )
)

const instanceNormShape = imageRule<InstanceNormArguments>('instanceNorm', ({ eps = 1 }, image) =>
  kept(image, validateEps('instanceNorm', eps) ?? (image[2] * image[3] === 1 ? noVarianceError('instanceNorm', image) : undefined))
)

/** The record of `batchNorm`. */
export const batchNorm = {
  options: [
    ['eps', 'eps'],
    ['momentum', 'momentum'],
    ['affine', false, 'no-affine'],
    ['frozen', true, 'frozen']
  ],
  segment: { ...pixelwise, statistics: allDims },
  shape: unary(batchNormShape)
} as const satisfies OpRecord<BatchNormArguments>

/** The record of `groupNorm`. */
export const groupNorm = {
  options: [
    ['groups', ''],
    ['eps', 'eps'],
    ['affine', false, 'no-affine']
  ],
  required: ['groups'],
  segment: { ...pixelwise, statistics: ['H', 'W'] },
  shape: unary(groupNormShape)
} as const satisfies OpRecord<GroupNormArguments>

/** The record of `instanceNorm`. */
export const instanceNorm = {
  options: [
    ['eps', 'eps'],
    ['affine', true, 'affine']
  ],
  segment: { ...pixelwise, statistics: ['H', 'W'] },
  shape: unary(instanceNormShape)
} as const satisfies OpRecord<InstanceNormArguments>

type Image = readonly [number, number, number, number]
type Features = readonly [number, number]

/** Tells whether eps is above 0. */
type Positive<A> = `${OptionValue<A, 'eps', 1> & number}` extends '0' | `-${string}` ? false : true
type EpsError<P extends Normalisation, A> = `${P}: eps must be above 0, not ${OptionValue<A, 'eps', 1> & number}`

type Fraction<N extends number> = `${N}` extends '0' | '1' | `0.${string}` | `${number}e-${number}` | (number extends N ? string : never)
  ? true
  : false

/** The type of what the rule of batchNorm returns. */
export type BatchNormShape<S extends Shape, A> = S extends Image | Features
  ? Positive<A> extends false
    ? EpsError<'batchNorm', A>
    : Fraction<OptionValue<A, 'momentum', 1> & number> extends false
      ? `batchNorm: the momentum ${OptionValue<A, 'momentum', 1> & number} is not in [0, 1]`
      : S extends readonly [1, number, 1, 1] | readonly [1, number]
        ? true extends OptionValue<A, 'frozen', false>
          ? S
          : `batchNorm: one value per channel, ${ShowShape<S>}, has no variance; give it more pixels or images, or freeze it`
        : S
  : Mismatch<S, `batchNorm: takes an image BxCxHxW or features BxC, not ${ShowShape<S>}`>

/** The type of what the rule of groupNorm returns. */
export type GroupNormShape<S extends Shape, A> = S extends Image
  ? Positive<A> extends false
    ? EpsError<'groupNorm', A>
    : OptionValue<A, 'groups', 1> extends infer G extends number
      ? AreWholePositive<`${G}`> extends false
        ? 'groupNorm: groups must be a whole number above 0'
        : Divides<G, S[1]> extends false
          ? `groupNorm: its ${S[1]} channels do not divide into ${G} groups`
          : S extends readonly [1, G, 1, 1]
            ? number extends G
              ? S
              : `groupNorm: one value per group, ${ShowShape<S>}, has no variance; give it more pixels`
            : S
      : never
  : NoImage<'groupNorm', S>

/** The type of what the rule of instanceNorm returns. */
export type InstanceNormShape<S extends Shape, A> = S extends Image
  ? Positive<A> extends false
    ? EpsError<'instanceNorm', A>
    : S extends readonly [number, number, 1, 1]
      ? `instanceNorm: one value per channel, ${ShowShape<S>}, has no variance; give it more pixels`
      : S
  : NoImage<'instanceNorm', S>
