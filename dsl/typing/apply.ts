import type { AnyLayer, Arguments, Layers } from '../arguments'
import type { LocateError, LocateErrorInList } from './error-place'
import type { AnyTensor, Invalid, Tensor } from './tensor'
import type { ApplyResult, WidenSizes, Walk } from './walk'

/** The type of the layer L applied to X, or the mistake; or Else where X is no tensor. */
export type Apply<X, N extends keyof Arguments, A, L, Else> = [unknown] extends [X]
  ? AnyTensor
  : X extends AnyTensor
    ? ApplyResult<WidenSizes<X>, N, A> extends infer Y
      ? Y extends string
        ? Invalid<LocateError<X, N, A, Y>>
        : L extends AnyLayer
          ? After<Y, readonly [L]>
          : never
      : never
    : Else

/**
 * The type of a list of layers applied to X: the tensor, or the mistake with the name of its layer.
 */
export type ApplyLayers<X, L extends Layers> =
  Walk<X, L> extends infer Y ? (Y extends string ? Invalid<LocateErrorInList<X, L, Y>[1]> : After<Y, L>) : never

/** Y, which now has the layers L behind it. */
type After<Y, L extends Layers> =
  Y extends Tensor<infer S, infer F, infer G, infer O, infer W>
    ? Tensor<S, F, G, readonly [O[0], readonly [O[1][0], O[1][1], readonly [...O[1][2], ...L]]], W>
    : Y
