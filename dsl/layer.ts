import type { AnyLayer, Arguments } from './arguments'
import type { Apply } from './apply'
import type { Accept, AnyTensor, Bad } from './tensor'

/**
 * A layer is data that can be called: staging walks `op` and `args`, the call gives fp-ts `pipe` its types.
 * Declared `in out` so that the compiler need not compare whole rule tables to find the variance.
 */
export interface Layer<in out N extends keyof Arguments, in out A> {
  readonly op: N
  readonly args: A
  <X extends AnyTensor>(x: X & Accept<Apply<X, N, A>>): Apply<X, N, A>
}

/** Refuses options that are not in Known, which a `const` parameter would let through. */
export type Only<A, Known> = { readonly [K in Exclude<keyof A, keyof Known>]: Bad<`there is no option ${K & string}`> }

/** Makes a layer: data, and a function that appends it to a tensor's layers. */
export const layer = <N extends keyof Arguments, const A>(op: N, args: A): Layer<N, A> => {
  const data = { op, args }
  const call = (x: AnyTensor): AnyTensor => ({ ...x, layers: [...x.layers, data as unknown as AnyLayer] })
  return Object.assign(call, data) as unknown as Layer<N, A>
}
