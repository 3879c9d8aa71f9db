import type { ArgsOf, Op } from '../../dsl/internal'
import type { AxisAccess } from './axis-access'
import type { Extents } from './extents'
import type { TileAxis } from '../program/program'

/** How one output element reads an op's input, along each dimension that can be tiled. */
export type AccessMap = { readonly [A in TileAxis]: AxisAccess }

const same: AxisAccess = { kind: 'same' }
const whole: AxisAccess = { kind: 'whole' }
const reduce: AxisAccess = { kind: 'reduce' }

/**
 * A rule that says how an op of these arguments, from a tensor of one size to one of another, reads
 * its input.
 */
export type AccessRule<P extends Op> = (args: ArgsOf<P>, input: Extents, output: Extents) => AccessMap

/**
 * The access of a pointwise op: each output element reads the input's element at its own place.
 * Flat tensors have H = W = 1, so `same` along them allows one tile only.
 */
export const sameAccess = (): AccessMap => ({ B: same, H: same, W: same })
/** The access of an op whose output rows each read a whole image. */
export const wholeImageAccess = (): AccessMap => ({ B: same, H: whole, W: whole })
/** Pixels are summed away. */
export const pixelReductionAccess = (): AccessMap => ({ B: same, H: reduce, W: reduce })
/** All but the channels is summed away. */
export const reductionAccess = (): AccessMap => ({ B: reduce, H: reduce, W: reduce })
/** Rows of a batch are summed; each is read whole. */
export const rowReductionAccess = (): AccessMap => ({ B: reduce, H: whole, W: whole })
/** Along height and width, by a rule of its own. */
export const imageAccess = (axis: (index: 0 | 1) => AxisAccess): AccessMap => ({ B: same, H: axis(0), W: axis(1) })
