import type { Apply } from './typing/apply'
import type { Arguments } from './arguments'
import type { RequireStrict } from './typing/fit'
import type { CheckedArguments, GivenOptions, Options } from './option-names'
import type { Accept, AnyTensor, Invalid } from './typing/tensor'

/** Stands for the tensor where a layer is called without one. */
interface NoTensorGiven {
  readonly none: true
}

/**
 * A layer is data that can be called: staging walks `op` and `args`, the call gives fp-ts `pipe`
 * its types; without a tensor it gives the layer again, so that `relu()` is `relu`. Declared `in
 * out` so that the compiler need not compare whole rule tables to find the variance.
 */
export interface Layer<in out N extends keyof Arguments, in out A> {
  readonly op: N
  readonly args: A
  <X = NoTensorGiven>(
    tensor?: NoInfer<Accept<Apply<X, N, A, Layer<N, A>, NoTensor<X, NameOf<N, A>>>>> & X
  ): Apply<X, N, A, Layer<N, A>, Layer<N, A>>
}

/** The name of a layer in messages: a pointwise function by its own name. */
type NameOf<N extends string, A> = N extends 'pointwise' ? A['function' & keyof A] & string : N
type NoTensor<X, N extends string> = X extends NoTensorGiven
  ? unknown
  : X extends { readonly op: infer P extends string }
    ? Invalid<`${N}: takes a tensor, not the layer ${P}; in a pipe write ${P}()`>
    : N extends 'checkpoint'
      ? Invalid<'checkpoint: takes no options; a budget is for checkpointWithin'>
      : Invalid<`${N}: takes no options; write ${N} alone`>

type Given<A> = A extends infer B ? B : never

/**
 * Marks a function that makes layers as not being one itself: the compiler's sentence stands where
 * a layer has its op, in types only.
 */
interface NotALayer<P extends string> {
  readonly op: Invalid<`the function ${P} is not a layer; call it, as in ${P}()`>
  readonly args: {}
}

/**
 * Makes layers of an op from its options. The result is hidden from inference, by which a list's
 * other layers would suggest their options.
 */
export interface LayerMaker<in out P extends keyof CheckedArguments> extends NotALayer<P> {
  <const A extends GivenOptions<P> & object>(options: RequireStrict<Options<P, A>> & A): Layer<P, Given<A>>
}

/** Makes layers of an op whose options may all be left out. */
export interface DefaultLayerMaker<in out P extends keyof CheckedArguments> extends NotALayer<P> {
  (): Layer<P, {}>
  <const A extends GivenOptions<P> & object>(options: RequireStrict<Options<P, A>> & A): Layer<P, Given<A>>
}

const isTensor = (value: unknown): value is AnyTensor => typeof value === 'object' && value !== null && 'layers' in value

/**
 * Makes a layer: data, and a function that appends it to a tensor's layers. Options that no
 * compiler saw are kept, for trace to refuse.
 */
export const layer = <N extends keyof Arguments, const A>(op: N, args: A): Layer<N, A> => {
  const data = { op, args }
  const call = (given?: unknown): unknown =>
    isTensor(given) ? { ...given, layers: [...given.layers, data] } : given === undefined ? made : layer(op, given)
  // What a layer makes of a tensor is known to types alone.
  const made = Object.assign(call, data) as unknown as Layer<N, A>
  return made
}

const makeConstructor = (op: keyof Arguments): unknown =>
  Object.defineProperty((options: object = {}) => layer(op, options), 'name', { value: op })

/** Makes the constructor of an op of which some options must be given. */
export const layerMaker = <P extends keyof CheckedArguments>(op: P): LayerMaker<P> => makeConstructor(op) as LayerMaker<P>
/** Makes the constructor of an op whose options may all be left out. */
export const defaultLayerMaker = <P extends keyof CheckedArguments>(op: P): DefaultLayerMaker<P> =>
  makeConstructor(op) as DefaultLayerMaker<P>
