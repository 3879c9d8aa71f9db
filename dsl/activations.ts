/**
 * Activation functions of PyTorch as expressions; their derivatives at kinks, infinities and NaN
 * are PyTorch's.
 */
import { pointwise, pointwiseOfOutput, type Pointwise } from './expression/pointwise'
import { functionText, type WithOptions } from './expression/text'
import { constant, where, type Value } from './expression/value'
import type { Layer } from './layer'
import type { PointwiseArguments } from './ops/pointwise'

/** Not below `min` nor above `max`; the gradient passes between them, both left out. */
const hardtanh = (x: Value, min: number, max: number): Value => {
  const clipped = x.maximum(min).minimum(max).detach()
  return where(x.gt(min), where(x.lt(max), x, clipped), clipped)
}

/** log(1 + exp(beta x)) / beta, and x from a threshold on, as PyTorch's. */
const softplusValue = (x: Value, beta: number, threshold: number): Value =>
  where(x.mul(beta).gt(threshold), x, x.mul(beta).exp().log1p().div(beta))

/** y = 1 / (1 + exp(-x)). */
export const sigmoid = pointwiseOfOutput(
  'sigmoid',
  (x) => x.sigmoid(),
  (y) => y.mul(constant(1).sub(y))
)

/** y = tanh(x). */
export const tanh = pointwiseOfOutput(
  'tanh',
  (x) => x.tanh(),
  (y) => constant(1).sub(y.mul(y))
)

/** y = x sigmoid(x). */
export const silu = pointwise('silu', (x) => x.mul(x.sigmoid()))

/** y = x times the normal distribution function of x, by erf. */
export const gelu = pointwise('gelu', (x) => x.mul(x.mul(Math.SQRT1_2).erf().add(1).mul(0.5)))

/** y = x min(max(x + 3, 0), 6) / 6 (Howard et al., 2019). */
export const hardswish = pointwise('hardswish', (x) => {
  const middle = x.mul(x.add(3)).div(6)
  return where(x.ge(3), x, where(x.le(-3), x.mul(0).detach(), middle))
})

/** y = min(max(x, 0), 6); the gradient passes between 0 and 6, both left out. */
export const relu6 = pointwise('relu6', (x) => hardtanh(x, 0, 6))

/** y = min(max(x + 3, 0), 6) / 6. */
export const hardsigmoid = pointwise('hardsigmoid', (x) => hardtanh(x.add(3), 0, 6).div(6))

/** y = x tanh(softplus(x)) (Misra, 2019). */
export const mish = pointwise('mish', (x) => x.mul(softplusValue(x, 1, 20).tanh()))

/**
 * y = x > 0 ? x : alpha (exp(x) - 1); alpha 1 by default (Clevert, Unterthiner and Hochreiter,
 * 2015).
 */
export const elu = <const A extends { readonly alpha?: number | undefined } = {}>(
  options?: A
): Layer<'pointwise', Pointwise<WithOptions<'elu', A, 'alpha'>>> =>
  pointwise(functionText('elu', options, ['alpha']), (x) => where(x.gt(0), x, x.expm1().mul(options?.alpha ?? 1)))

/**
 * y = log(1 + exp(beta x)) / beta, and x where beta x is above the threshold; beta 1 and threshold
 * 20 by default.
 */
export const softplus = <const A extends { readonly beta?: number | undefined; readonly threshold?: number | undefined } = {}>(
  options?: A
): Layer<'pointwise', Pointwise<WithOptions<'softplus', A, 'beta' | 'threshold'>>> =>
  pointwise(functionText('softplus', options, ['beta', 'threshold']), (x) => softplusValue(x, options?.beta ?? 1, options?.threshold ?? 20))

/**
 * y = x where x < -lambda or x > lambda, else 0; lambda (PyTorch's lambd) 0.5 by default. NaN stays
 * NaN, without a gradient.
 */
export const hardshrink = <const A extends { readonly lambda?: number | undefined } = {}>(
  options?: A
): Layer<'pointwise', Pointwise<WithOptions<'hardshrink', A, 'lambda'>>> => {
  const lambda = options?.lambda ?? 0.5
  return pointwise(functionText('hardshrink', options, ['lambda']), (x) =>
    where(x.gt(lambda), x, where(x.lt(-lambda), x, x.mul(0).detach()))
  )
}

/** y = min(max(x, min), max); the gradient passes from min to max, both included. */
export const clamp = <const A extends { readonly min: number; readonly max: number }>(
  options: A
): Layer<'pointwise', Pointwise<WithOptions<'clamp', A, 'min' | 'max'>>> =>
  pointwise(functionText('clamp', options, ['min', 'max']), (x) => x.clamp(options.min, options.max))

/**
 * y = x > 0 ? x : weight x, with one weight that is learnt, or one a channel; it starts at 0.25 (He
 * et al., 2015).
 */
export const prelu = <const A extends { readonly perChannel?: boolean | undefined } = {}>(options?: A) =>
  pointwise('prelu', (x, { weight }) => where(x.gt(0), x, x.mul(weight)), {
    weight: { initial: 0.25, ...(options?.perChannel !== undefined && { perChannel: options.perChannel }) }
  })

/**
 * The functions that devices have compiled. They interpret all others, which is faster where a
 * choice between calls of the mathematics library would keep a compiler from vectors.
 */
export const compiledActivations: readonly { readonly args: PointwiseArguments }[] = [
  sigmoid,
  tanh,
  silu,
  gelu,
  hardswish,
  relu6,
  hardsigmoid
]

/** Tells whether a function is one of those that devices have compiled. */
export const isCompiledActivation = (args: PointwiseArguments): boolean =>
  compiledActivations.some((own) => own.args.function === args.function && JSON.stringify(own.args) === JSON.stringify(args))
