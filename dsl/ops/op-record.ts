import type * as E from 'fp-ts/Either'
import type { Shape, ShapeRule, UnaryRule } from '../shapes/shape'

/** A dimension along which a segment can be tiled: the fused-tiling (FT) dimensions of SFT. */
export type Dim = 'B' | 'H' | 'W'

/** Dimensions that can be tiled, in the order in which messages list them. */
export const allDims = ['B', 'H', 'W'] as const satisfies readonly Dim[]

/**
 * An option with the letters before its value, or one that is written as a word where it has the
 * given value.
 */
type OptionText<K> = readonly [option: K, letters: string] | readonly [option: K, value: boolean, word: string]

/**
 * The target of a loss: a class for each row of [B, N], a class for each pixel of [B, N, H, W], or
 * values of the input's own shape.
 */
export type LossTarget = 'labels' | 'pixel-labels' | 'values'

/** The rules by which an op joins a segment. */
interface OpSegment {
  /** Dimensions that a segment can be tiled along where another op follows this one in it. */
  readonly inside: readonly Dim[]
  /**
   * Dimensions that it can be tiled along with this op as its last: the tiles of a sum are added
   * up.
   */
  readonly last: readonly Dim[]
  /** Overwrites its input, so that the segment holds no more bytes with it than without. */
  readonly inPlace: boolean
  /**
   * Dimensions over which it needs statistics of its whole input, which a segment that is tiled
   * along them must not make itself.
   */
  readonly statistics: readonly Dim[]
  /** Reduces what tiles partition: the tiles of a segment that it ends are those of its input. */
  readonly reduces: boolean
  /**
   * Images may come out in another height or width. False where they never do, or none come out, so
   * that the types of tiles need not ask its shape rule.
   */
  readonly resizes: boolean
}

/**
 * All that the DSL declares of an op whose options are A, beside the type of its shape rule
 * (ShapeRules).
 */
export type OpRecord<A> = {
  /** The options that it knows, in the order in which plans write them. */
  readonly options: readonly OptionText<keyof A>[]
  readonly segment: OpSegment
  /** The same where it makes one pixel of each image, if that is otherwise: tiles add to it. */
  readonly toOnePixel?: OpSegment
  /** Ends a network, and makes nothing but a number: what its input is compared with. */
  readonly loss?: LossTarget
  /**
   * A loss that is divided by what comes with the step: what counts of all micro-batches of an
   * update.
   */
  readonly normalised?: true
  /** Keeps what is positive and scales the rest, so that its output's sign is its input's. */
  readonly rectifies?: true
  /**
   * Takes the maximum of each window, and notes for backward which element that was: may run before
   * the rectifier that it follows.
   */
  readonly takesMaxima?: true
  /** Tells, of a convolution, whether Winograd's algorithm can compute it with such options. */
  readonly transformable?: (args: A) => boolean
  /**
   * The output's shape from the inputs' shapes, or one sentence that says why there is none;
   * ShapeRules says the same in types.
   */
  readonly shape: ShapeRule<A>
} & ({} extends A ? {} : { /** Options that must be given. */ readonly required: readonly (keyof A)[] })

/** How an op may be tiled each element of whose output comes from a window of the input. */
export const local = { inside: allDims, last: allDims, inPlace: false, statistics: [], reduces: false, resizes: true } as const
/** Pixels of the output come from those at their places. */
export const pixelwise = { ...local, resizes: false } as const
/** How an op may be tiled that maps each pixel to its place, over its own input where it may. */
export const pixelwiseInPlace = { ...pixelwise, inPlace: true } as const
/** The record of an op that takes vectors [B, N] alone. */
export const rowwise = { ...pixelwise, inside: ['B'], last: ['B'] } as const
/** How an op may be tiled that reduces all pixels of an image: along the batch alone. */
export const reducesPixels = { ...pixelwise, inside: ['B'], reduces: true } as const

/** The rule of an op of one tensor. */
export const unary =
  <A>(rule: UnaryRule<A>): ShapeRule<A> =>
  (args: A, [input]: readonly Shape[], start: Shape): E.Either<string, Shape> =>
    rule(args, input!, start)
