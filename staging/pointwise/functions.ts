import { mostSteps, type ArgsOf, type Expression } from '../../dsl'
import { gradientBy, timesGradient, type Variable } from './differentiate'
import { encodeExpression, mostRegisters } from './encode'

/** What devices run of a pointwise function, encoded. */
export interface PointwiseFunctions {
  readonly forward: readonly number[]
  /** The gradient of the input, or of what a variable is, by `gradient`. */
  readonly backward: (by: Variable) => readonly number[]
}

/** Why devices cannot run a function or its gradients; undefined where they can. */
export const validateFunction = (args: ArgsOf<'pointwise'>): string | undefined => {
  const { expression, derivativeOfOutput, weight, bias } = args
  const variables: readonly Variable[] = ['input', ...(weight ? (['weight'] as const) : []), ...(bias ? (['bias'] as const) : [])]
  const all = [
    expression,
    ...variables.map((by) => gradientBy(expression, by)),
    ...(derivativeOfOutput ? [timesGradient(derivativeOfOutput)] : [])
  ]
  if (all.some((one) => one.length > mostSteps))
    return `its gradient has more than the ${mostSteps} steps that devices take; make two layers of it`
  return all.some((one) => encodeExpression(one) === undefined)
    ? `it or its gradient needs more than the ${mostRegisters} values at once that devices have; make two layers of it`
    : undefined
}

/** Of a function that was found to fit. */
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
