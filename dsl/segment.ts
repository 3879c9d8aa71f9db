import type { Lte } from './arithmetic'
import type { Mark, Op, OpArguments } from './arguments'
import type { Option } from './options'
import type { Shape } from './shape'

/** A dimension along which a segment can be tiled (paper 002's FT dimensions). */
export type Dim = 'B' | 'H' | 'W'

/** In the order in which messages list them. */
export const allDims = ['B', 'H', 'W'] as const satisfies readonly Dim[]

interface OpSegment {
  /** Dimensions that a segment can be tiled along where another op follows this one in it. */
  readonly inside: readonly Dim[]
  /** Dimensions that it can be tiled along with this op as its last: the tiles of a sum are added up. */
  readonly last: readonly Dim[]
  /** Overwrites its input, so that the segment holds no more bytes with it than without. */
  readonly inPlace: boolean
  /** Dimensions over which it needs statistics of its whole input, which a segment that is tiled along them must not make itself. */
  readonly statistics: readonly Dim[]
}

const local = { inside: allDims, last: allDims, inPlace: false, statistics: [] } as const
const localInPlace = { ...local, inPlace: true } as const
const rowwise = { ...local, inside: ['B'], last: ['B'] } as const
const sumOverPixels = { ...local, inside: ['B'] } as const

/** How each op joins a segment. An op of vectors [B, N] is rowwise, or local where it also takes images. */
export const opSegments = {
  conv2d: local,
  relu: localInPlace,
  leakyRelu: localInPlace,
  maxPool2d: local,
  avgPool2d: local,
  globalAvgPool: sumOverPixels,
  flatten: { ...rowwise, inPlace: true },
  linear: rowwise,
  dropout: local,
  convTranspose2d: local,
  batchNorm: { ...local, statistics: allDims },
  groupNorm: { ...local, statistics: ['H', 'W'] },
  instanceNorm: { ...local, statistics: ['H', 'W'] },
  sigmoid: localInPlace,
  tanh: localInPlace,
  silu: local,
  gelu: local,
  resize: local,
  adaptiveAvgPool2d: local,
  add: localInPlace,
  concat: local,
  softmaxCrossEntropy: rowwise,
  pixelCrossEntropy: sumOverPixels,
  meanSquaredError: sumOverPixels
} as const satisfies { readonly [P in Op]: OpSegment }

/** What a segment that ends in Last, so far, can be tiled along when another op follows; Last is never at its start. */
export type InsideDims<Last extends Op> = [Last] extends [never] ? Dim : (typeof opSegments)[Last]['inside'][number]
/** What a segment can be tiled along with P as its last op. */
export type LastDims<P extends Op> = (typeof opSegments)[P]['last'][number]
export type InPlace<P extends Op> = (typeof opSegments)[P]['inPlace']

/** Dimensions over which this op needs statistics of its whole input; a frozen batchNorm has its running statistics. */
export const statisticsOf = (op: Op, args: OpArguments[Op]): readonly Dim[] =>
  'frozen' in args && args.frozen === true ? [] : opSegments[op].statistics

/** Ops that need statistics of their whole input in training. */
export type Normalisation = { [P in Op]: (typeof opSegments)[P]['statistics'] extends readonly [] ? never : P }[Op]
/** The type of what statisticsOf returns; what may be frozen passes. */
export type StatisticsOf<P extends Op, A> = true extends Option<A, 'frozen', false> ? never : (typeof opSegments)[P]['statistics'][number]

/** Ops that sum over what tiles partition: the tiles of a segment that one of them ends are those of what it takes. */
export type Summing = 'globalAvgPool' | 'softmaxCrossEntropy' | 'pixelCrossEntropy' | 'meanSquaredError'

/** Why the last op of a segment, which takes shape T and makes S, has fewer images, rows or columns than C asks for tiles. */
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

/** What a segment that starts from a tensor of this shape can be tiled along: images whole, vectors and losses by rows. */
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

/** Whether this says how to run what stands around it, and computes nothing. */
export const isMark = (op: string): op is Mark => op === 'checkpoint' || op === 'tile'
