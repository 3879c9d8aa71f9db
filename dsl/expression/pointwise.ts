import { layer, type Layer } from '../layer'
import type { PointwiseParameter } from '../ops/pointwise'
import type { Expression } from './expression'
import { toExpression, leaf, type Value } from './value'

/** Parameters that a pointwise function learns, by PyTorch's names. */
interface Parameters {
  readonly weight?: PointwiseParameter
  readonly bias?: PointwiseParameter
}

/** The options of a pointwise function's layer; N is its name in plans. */
export interface Pointwise<N extends string> {
  readonly function: N
  readonly expression: Expression
}
/** A pointwise function whose derivative is known from its output: its input need not be kept. */
export interface OutputPointwise<N extends string> extends Pointwise<N> {
  readonly derivativeOfOutput: Expression
}

interface Leaves {
  readonly weight: Value
  readonly bias: Value
}

/**
 * A layer that computes each element by itself, from an expression in TypeScript:
 *
 *     const hardswish = pointwise('hardswish', (x) => x.mul(x.add(3).clamp(0, 6)).div(6))
 *     const scale = pointwise('scale', (x, { weight }) => x.mul(weight), {
 *       weight: { initial: 1, perChannel: true }
 *     })
 *
 * It is differentiated, tiled, verified and run on every device. `name` stands in plans and
 * messages. Parameters are one number, or one a channel, and are trained. Steps: at most 256, each
 * distinct one counted once.
 */
export const pointwise = <const N extends string, const P extends Parameters = {}>(
  name: N,
  define: (x: Value, parameters: Pick<Leaves, keyof P & keyof Leaves>) => Value,
  parameters?: P
): Layer<'pointwise', Pointwise<N> & P> => {
  const leaves: Leaves = { weight: leaf('weight'), bias: leaf('bias') }
  return layer('pointwise', {
    function: name,
    // Without a function, which no compiler lets pass, there are no steps, which the layer refuses.
    expression: typeof define === 'function' ? toExpression(define(leaf('input'), leaves)) : [],
    ...parameters
  }) as unknown as Layer<'pointwise', Pointwise<N> & P>
}

/**
 * A pointwise function without parameters, with its derivative as a function of its output, in the
 * place of which it can then be computed.
 */
export const pointwiseOfOutput = <const N extends string>(
  name: N,
  define: (x: Value) => Value,
  derivativeOfOutput: (y: Value) => Value
): Layer<'pointwise', OutputPointwise<N>> =>
  layer<'pointwise', OutputPointwise<N>>('pointwise', {
    function: name,
    expression: toExpression(define(leaf('input'))),
    derivativeOfOutput: toExpression(derivativeOfOutput(leaf('input')))
  })
