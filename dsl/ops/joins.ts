/** Shapes where branches meet: at run time and, with the same sentences, in types. */
import * as E from 'fp-ts/Either'
import type { Add } from '../arithmetic'
import { showShape, type Shape, type ShowShape } from '../shape'
import { local, localInPlace, type OpRecord } from './op-record'
import type { NoOptions } from './options'

/** Of the main branch and the shortcut. */
const addShape = (inputs: readonly Shape[]): E.Either<string, Shape> => {
  const [main, shortcut] = inputs
  if (main === undefined || shortcut === undefined || inputs.length > 2) return E.left(`add: joins two branches, not ${inputs.length}`)
  if (main.length === 0 || shortcut.length === 0) return E.left('add: nothing can follow a loss')
  return main.join() === shortcut.join()
    ? E.right(main)
    : E.left(`add: the branches differ, main ${showShape(main)} but shortcut ${showShape(shortcut)}`)
}

/** Everything but the channels. */
const others = ([batch, , ...pixels]: Shape): string => [batch, ...pixels].join()

/** Of two branches or more, with the channels of all of them. */
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

export const add = {
  options: [],
  segment: localInPlace,
  shape: (_, inputs) => addShape(inputs)
} as const satisfies OpRecord<NoOptions>

export const concat = {
  options: [],
  segment: local,
  shape: (_, inputs) => concatShape(inputs)
} as const satisfies OpRecord<NoOptions>

/** The type of what the rule of add returns. */
export type AddShape<Inputs extends readonly Shape[]> = Inputs extends readonly [infer M extends Shape, infer S extends Shape]
  ? number extends M['length'] | S['length']
    ? Shape
    : 0 extends M['length'] | S['length']
      ? 'add: nothing can follow a loss'
      : Agree<M, S> extends true
        ? M
        : `add: the branches differ, main ${ShowShape<M>} but shortcut ${ShowShape<S>}`
  : `add: joins two branches, not ${Inputs['length']}`

/** Whether shapes are of the same rank and the same sizes, as far as they are known. */
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
  ? Joined<First, readonly [Second, ...Rest], First[1] & number>
  : `concat: joins at least two branches, not ${Inputs['length']}`

type Joined<First extends Shape, Rest extends readonly Shape[], Channels extends number> = Rest extends readonly [
  infer S extends Shape,
  ...infer Others extends readonly Shape[]
]
  ? number extends First['length'] | S['length']
    ? Shape
    : 0 extends First['length'] | S['length']
      ? 'concat: nothing can follow a loss'
      : Agree<WithChannels<First, 1>, WithChannels<S, 1>> extends true
        ? Joined<First, Others, Add<Channels, S[1] & number>>
        : `concat: the branches differ, ${ShowShape<First>} and ${ShowShape<S>}`
  : WithChannels<First, Channels>

type WithChannels<S extends Shape, C extends number> = S extends readonly [
  infer B extends number,
  number,
  ...infer Pixels extends readonly number[]
]
  ? readonly [B, C, ...Pixels]
  : never
