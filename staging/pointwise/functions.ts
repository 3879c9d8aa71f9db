import type { ArgsOf, Expression } from '../../dsl'
import { gradientBy, timesGradient, type Variable } from './differentiate'
import { encodeExpression } from './encode'

/** What devices run of a pointwise function, encoded. */
export interface PointwiseFunctions {
  readonly forward: readonly number[]
  /** The gradient of the input, or of what a variable is, by `gradient`. */
  readonly backward: (by: Variable) => readonly number[]
}

/** An expression and its gradients fit into registers: a function of at most 256 steps whose results are read soon, as nearly all are. */
const encoded = (expression: Expression): readonly number[] => {
  const code = encodeExpression(expression)
  if (code === undefined) throw new Error('an expression needs more registers than devices have')
  return code
}

const known = new WeakMap<Expression, Map<string, readonly number[]>>()

/** Encoded expressions are remembered: plans are made of thousands of launches of each. */
const remembered = (expression: Expression, key: string, make: () => Expression): readonly number[] => {
  const codes = known.get(expression) ?? new Map<string, readonly number[]>()
  known.set(expression, codes)
  const code = codes.get(key) ?? encoded(make())
  codes.set(key, code)
  return code
}

export const functionsOf = ({
  expression,
  derivativeOfOutput
}: Pick<ArgsOf<'pointwise'>, 'expression' | 'derivativeOfOutput'>): PointwiseFunctions => ({
  forward: remembered(expression, 'value', () => expression),
  backward: (by) =>
    by === 'input' && derivativeOfOutput !== undefined
      ? remembered(derivativeOfOutput, 'of output', () => timesGradient(derivativeOfOutput))
      : remembered(expression, by, () => gradientBy(expression, by))
})
