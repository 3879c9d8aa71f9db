/** Shapes where branches meet: at run time and, with the same sentences, in types. */
import * as E from 'fp-ts/Either'
import type { Add } from '../shapes/arithmetic'
import { showShape, type Shape, type ShowShape } from '../shapes/shape'
import { pixelwise, pixelwiseInPlace, type OpRecord } from './op-record'
import type { NoOptions } from './options'

/** Tells whether a tensor is one value for each image and channel of another. */
export const isBroadcast = (main: Shape, second: Shape): boolean =>
  main.length === 4 && second.length === 4 && second[2] === 1 && second[3] === 1 && main[0] === second[0] && main[1] === second[1]

/**
 * The shape of the main branch joined with another of the same shape, or of one value for each
 * image and channel.
 */
const joinShape =
  (op: 'add' | 'mul', second: string) =>
  (inputs: readonly Shape[]): E.Either<string, Shape> => {
    const [main, other] = inputs
    if (main === undefined || other === undefined || inputs.length > 2) return E.left(`${op}: joins two branches, not ${inputs.length}`)
    if (main.length === 0 || other.length === 0) return E.left(`${op}: nothing can follow a loss`)
    return main.join() === other.join() || isBroadcast(main, other)
      ? E.right(main)
      : E.left(`${op}: the branches differ, main ${showShape(main)} but ${second} ${showShape(other)}`)
  }

const addShape = joinShape('add', 'shortcut')
const mulShape = joinShape('mul', 'gate')

/** Everything but the channels. */
const others = ([batch, , ...pixels]: Shape): string => [batch, ...pixels].join()

/** The shape of two or more branches concatenated: the channels of all of them. */
const concatShape = (inputs: readonly Shape[]): E.Either<string, Shape> => {
  const [first, ...rest] = inputs
  if (first === undefined || rest.length === 0) return E.left(`concat: joins at least two branches, not ${inputs.length}`)
  let channels = first[1]!
  for (const shape of rest) {
    if (first.length === 0 || shape.length === 0) return E.left('concat: nothing can follow a loss')
    if (others(first) !== others(shape)) return E.left(`concat: the branches differ, ${showShape(first)} and ${showShape(shape)}`)
    channels += shape[1]!
  }
  return E.right([first[0]!, channels, ...first.slice(2)])
}

/** The record of `add`, the sum of two tensors. */
export const add = {
  options: [],
  segment: pixelwiseInPlace,
  shape: (_, inputs) => addShape(inputs)
} as const satisfies OpRecord<NoOptions>

/** The record of `mul`, the product of two tensors. */
export const mul = {
  options: [],
  segment: pixelwise,
  shape: (_, inputs) => mulShape(inputs)
} as const satisfies OpRecord<NoOptions>

/** The record of `concat`, several tensors side by side along channels. */
export const concat = {
  options: [],
  segment: pixelwise,
  shape: (_, inputs) => concatShape(inputs)
} as const satisfies OpRecord<NoOptions>

/** The type of what the rules of add and mul return. */
export type JoinShape<P extends 'add' | 'mul', Second extends string, Inputs extends readonly Shape[]> = Inputs extends readonly [
  infer M extends Shape,
  infer S extends Shape
]
  ? number extends M['length'] | S['length']
    ? Shape
    : 0 extends M['length'] | S['length']
      ? `${P}: nothing can follow a loss`
      : Agree<M, S> extends true
        ? M
        : IsBroadcast<M, S> extends true
          ? M
          : `${P}: the branches differ, main ${ShowShape<M>} but ${Second} ${ShowShape<S>}`
  : `${P}: joins two branches, not ${Inputs['length']}`

type IsBroadcast<M extends Shape, S extends Shape> = M extends readonly [infer B extends number, infer C extends number, number, number]
  ? Agree<readonly [B, C, 1, 1], S>
  : false

/** Tells whether shapes are of the same rank and the same sizes, as far as they are known. */
type Agree<A extends Shape, B extends Shape> = [A] extends [B]
  ? true
  : A['length'] extends B['length']
    ? true extends { [K in keyof A]: Differ<A[K], B[K & keyof B]> }[number]
      ? false
      : true
    : false
type Differ<A, B> = A extends B ? false : B extends A ? false : true

/** The type of what the rule of concat returns. */
export type ConcatShape<Inputs extends readonly Shape[]> = Inputs extends readonly [
  infer First extends Shape,
  infer Second extends Shape,
  ...infer Rest extends readonly Shape[]
]
  ? ConcatenatedShape<First, readonly [Second, ...Rest], First[1] & number>
  : `concat: joins at least two branches, not ${Inputs['length']}`

type ConcatenatedShape<First extends Shape, Rest extends readonly Shape[], Channels extends number> = Rest extends readonly [
  infer S extends Shape,
  ...infer Others extends readonly Shape[]
]
  ? number extends First['length'] | S['length']
    ? Shape
    : 0 extends First['length'] | S['length']
      ? 'concat: nothing can follow a loss'
      : Agree<WithChannels<First, 1>, WithChannels<S, 1>> extends true
        ? ConcatenatedShape<First, Others, Add<Channels, S[1] & number>>
        : `concat: the branches differ, ${ShowShape<First>} and ${ShowShape<S>}`
  : WithChannels<First, Channels>

type WithChannels<S extends Shape, C extends number> = S extends readonly [
  infer B extends number,
  number,
  ...infer Pixels extends readonly number[]
]
  ? readonly [B, C, ...Pixels]
  : never
