import type { Lte } from './arithmetic'
import type { Directive } from '../arguments'
import { opRecords, type Op, type OpArguments } from '../ops'
import { allDims, type Dim } from '../ops/op-record'
import type { Height, OptionValue, Width } from '../ops/options'
import type { Shape } from './shape'

export { allDims, type Dim }

type Records = typeof opRecords

/** Ops that are tiled otherwise where they make one pixel of each image. */
type OnePixelOp = { [P in Op]: Records[P] extends { readonly toOnePixel: unknown } ? P : never }[Op]
type ToOnePixel<P extends Op> = `${P} to one pixel`
/** An op, or what is tiled otherwise with some options than with others. */
export type SegmentOp = Op | ToOnePixel<OnePixelOp>
/** The type of what segmentOp returns. */
export type SegmentOpOf<P extends Op, A> = P extends OnePixelOp
  ? [Height<OptionValue<A, 'out', number>>, Width<OptionValue<A, 'out', number>>] extends [1, 1]
    ? ToOnePixel<P>
    : P
  : P
/** The same of an op that is written as in a plan. */
export type SegmentOpOfText<P extends Op, Text> = P extends OnePixelOp ? (Text extends `${P} 1` | `${P} 1x1` ? ToOnePixel<P> : P) : P
type SegmentRules<P extends SegmentOp> =
  P extends ToOnePixel<infer O extends OnePixelOp> ? Records[O]['toOnePixel'] : P extends Op ? Records[P]['segment'] : never

/** The name of an op among those that are tiled alike, whatever their options. */
export const segmentOp = (op: Op, args: OpArguments[Op]): SegmentOp => {
  const isToOnePixel = 'toOnePixel' in opRecords[op] && 'out' in args && [args.out].flat().every((extent) => extent === 1)
  return isToOnePixel ? (`${op} to one pixel` as SegmentOp) : op
}

/** The rules by which an op joins a segment. */
export const segmentRules = (op: SegmentOp): SegmentRules<SegmentOp> => {
  const record = opRecords[op.split(' ')[0] as Op]
  return op.includes(' ') && 'toOnePixel' in record ? record.toOnePixel : record.segment
}

/**
 * Dimensions along which a segment that ends in Last, so far, can be tiled when another op follows;
 * Last is never at its start.
 */
export type InsideDims<Last extends SegmentOp> = [Last] extends [never] ? Dim : SegmentRules<Last>['inside'][number]
/** Dimensions along which a segment with P as its last op can be tiled. */
export type LastDims<P extends Op> = Records[P]['segment']['last'][number]
/** Tells whether P overwrites its input: one whose derivative is known from its output does. */
export type InPlace<P extends Op, A> = A extends { readonly derivativeOfOutput: unknown } ? true : Records[P]['segment']['inPlace']

/** Tells whether an op overwrites its input: one whose derivative is known from its output does. */
export const isInPlace = (op: Op, args: OpArguments[Op]): boolean => 'derivativeOfOutput' in args || opRecords[op].segment.inPlace

/**
 * Dimensions over which this op needs statistics of its whole input; a frozen batchNorm has its
 * running statistics.
 */
export const statisticsDims = (op: Op, args: OpArguments[Op]): readonly Dim[] =>
  'frozen' in args && args.frozen === true ? [] : opRecords[op].segment.statistics

/** Ops that need statistics of their whole input in training. */
export type NormalisationOp = { [P in Op]: Records[P]['segment']['statistics'] extends readonly [] ? never : P }[Op]
/** The type of what statisticsDims returns; what may be frozen passes. */
export type StatisticsDims<P extends Op, A> =
  true extends OptionValue<A, 'frozen', false> ? never : Records[P]['segment']['statistics'][number]

/**
 * Ops that reduce what tiles partition: the tiles of a segment that one of them ends are those of
 * what it takes.
 */
export type Summing = ToOnePixel<OnePixelOp> | { [P in Op]: Records[P]['segment']['reduces'] extends true ? P : never }[Op]
/** Ops that may make images of another height or width than those they take. */
export type Resizing = { [P in Op]: Records[P]['segment']['resizes'] extends true ? P : never }[Op]

/**
 * Gives one sentence on why the last op of a segment, which takes shape T and makes S, has fewer
 * images, rows or columns than C asks for tiles, if that is so.
 */
export type MoreTiles<C, Last, T extends Shape, S extends Shape> = [Last] extends [Summing]
  ? MoreThan<C, T, 'input'>
  : MoreThan<C, S, 'output'>
type MoreThan<C, S extends Shape, Of extends string> =
  MoreAlong<C, S, 'B', 0, 'images', Of> extends infer Sentence extends string
    ? Sentence
    : MoreAlong<C, S, 'H', 2, 'rows', Of> extends infer Sentence extends string
      ? Sentence
      : MoreAlong<C, S, 'W', 3, 'columns', Of>
type MoreAlong<C, S extends Shape, D extends Dim, Place extends number, Unit extends string, Of extends string> = C extends {
  readonly [K in D]: infer N extends number
}
  ? S[Place] extends infer Extent extends number
    ? Lte<N, Extent> extends true
      ? undefined
      : `${N} tiles along ${D} are more than the ${Extent} ${Unit} of the ${Of}`
    : undefined
  : undefined

/**
 * Dimensions along which a segment that starts from a tensor of this shape can be tiled: all for
 * images, the batch for vectors and losses.
 */
export const dimsAtStart = (shape: Shape): readonly Dim[] => (shape.length === 4 ? allDims : ['B'])

/** The type of what dimsAtStart returns; a shape of unknown rank may be an image. */
export type DimsAtStart<S extends Shape> = S extends readonly [] | readonly [number, number] ? 'B' : Dim

/** "B H W"; "nothing" where there is none. */
export const showDims = (dims: readonly string[]): string => ['B', 'C', 'H', 'W'].filter((dim) => dims.includes(dim)).join(' ') || 'nothing'

/** The type of what showDims returns. */
export type ShowDims<F extends string> = [F] extends [never]
  ? 'nothing'
  : Spaced<`${Shown<'B', F>}${Shown<'C', F>}${Shown<'H', F>}${Shown<'W', F>}`>
type Shown<D extends string, F extends string> = D extends F ? ` ${D}` : ''
type Spaced<Text extends string> = Text extends ` ${infer Rest}` ? Rest : Text

/** Tells whether this says how to run what stands around it, and computes nothing. */
export const isDirective = (op: string): op is Directive => op === 'checkpoint' || op === 'tile'
