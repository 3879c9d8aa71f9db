import type { AreWholePositive } from './arithmetic'
import type { SizeValue } from '../ops/options'
import type { Shape, ShowShape } from './shape'
import type { Invalid } from '../typing/tensor'

/** The shape that a net can start from: S, or the mistake in it. */
export type Images<S extends Shape> = S extends readonly [
  infer B extends number,
  infer C extends number,
  infer H extends number,
  infer W extends number
]
  ? AreWholePositive<`${SizeValue<B>} ${SizeValue<C>} ${SizeValue<H>} ${SizeValue<W>}`> extends true
    ? S
    : Invalid<`input: ${ShowShape<S>} must be whole numbers above 0`>
  : number extends S['length']
    ? S
    : Invalid<`input: takes images BxCxHxW, not ${ShowShape<S>}`>
