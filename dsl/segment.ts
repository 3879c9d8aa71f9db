import type { Mark, Op } from './arguments'

/** A dimension along which a segment can be tiled (paper 002's FT dimensions). */
export type Dim = 'B' | 'H' | 'W'

interface OpSegment {
  /** Dimensions that a segment can be tiled along with this op as its last; a reduction's tiles are added up. */
  readonly dims: readonly Dim[]
  /** Overwrites its input, so that the segment holds no more bytes with it than without. */
  readonly inPlace: boolean
}

const pixelwise = { dims: ['B', 'H', 'W'], inPlace: false } as const
const pixelwiseInPlace = { dims: ['B', 'H', 'W'], inPlace: true } as const
const rowwise = { dims: ['B'], inPlace: false } as const

/** How each op joins a segment. Once the pixels are gone (any tensor that is not [B, C, H, W]), what follows allows B at most. */
export const opSegments = {
  conv2d: pixelwise,
  relu: pixelwiseInPlace,
  leakyRelu: pixelwiseInPlace,
  maxPool2d: pixelwise,
  avgPool2d: pixelwise,
  globalAvgPool: pixelwise,
  flatten: { dims: ['B'], inPlace: true },
  linear: rowwise,
  dropout: pixelwise,
  softmaxCrossEntropy: rowwise,
  meanSquaredError: pixelwise
} as const satisfies { readonly [P in Op]: OpSegment }

export type OpDims<P extends Op> = (typeof opSegments)[P]['dims'][number]
export type InPlace<P extends Op> = (typeof opSegments)[P]['inPlace']

/** "B H W" */
export const showDims = (dims: readonly string[]): string => ['B', 'C', 'H', 'W'].filter((dim) => dims.includes(dim)).join(' ')

/** The type of what showDims returns. */
export type ShowDims<F extends string> = Spaced<`${Shown<'B', F>}${Shown<'C', F>}${Shown<'H', F>}${Shown<'W', F>}`>
type Shown<D extends string, F extends string> = D extends F ? ` ${D}` : ''
type Spaced<Text extends string> = Text extends ` ${infer Rest}` ? Rest : Text

export const isMark = (op: string): op is Mark => op === 'checkpoint' || op === 'tile'
