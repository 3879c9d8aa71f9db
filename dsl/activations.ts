/** Activation functions of PyTorch as expressions; their derivatives at kinks, infinities and NaN are PyTorch's. */
import { pointwise, pointwiseOfOutput } from './expression/pointwise'
import { constant } from './expression/value'
import type { PointwiseArguments } from './ops/pointwise'

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

/** Those that devices have compiled; others they interpret. */
export const compiledActivations: readonly { readonly args: PointwiseArguments }[] = [sigmoid, tanh, silu, gelu]

/** Whether a function is one of ours, known by its name. */
export const isBuiltIn = (args: PointwiseArguments): boolean =>
  compiledActivations.some((own) => own.args.function === args.function && JSON.stringify(own.args) === JSON.stringify(args))
