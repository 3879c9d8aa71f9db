import type { PointwiseArguments } from '../../dsl'
import { maxExpressionSteps, type Expression } from '../../dsl/internal'
import { memoizePerObject } from '../memoize'
import { differentiate, timesGradient, type Variable } from './differentiate'
import { encodeExpression, maxRegisters, stepNumbers } from './encode'

/** What devices run of a pointwise function, encoded. */
interface PointwiseFunctions {
  readonly forward: readonly number[]
  /** The gradient of the input, or of what a variable is, by `gradient`. */
  readonly backward: (by: Variable) => readonly number[]
}

/** An expression that devices run, of a pointwise function. */
type Wanted = 'value' | Variable

/** Undefined where it needs more values at once than devices have. */
type Encoded = readonly number[] | undefined

/** Encoded expressions are remembered: plans are made of thousands of launches of each. */
const encodeOnce = memoizePerObject(
  (_: Expression, key: string, __: () => Expression) => key,
  (_, __, make): Encoded => encodeExpression(make())
)

type Function = Pick<PointwiseArguments, 'expression' | 'derivativeOfOutput'>

const encodeFunction = ({ expression, derivativeOfOutput }: Function, wanted: Wanted): Encoded => {
  if (wanted === 'value') return encodeOnce(expression, wanted, () => expression)
  return wanted === 'input' && derivativeOfOutput !== undefined
    ? encodeOnce(derivativeOfOutput, 'of output', () => timesGradient(derivativeOfOutput))
    : encodeOnce(expression, wanted, () => differentiate(expression, wanted))
}

/** Why devices cannot run a function or its gradients; undefined where they can. */
export const validateFunction = (args: PointwiseArguments): string | undefined => {
  const parameters = (['weight', 'bias'] as const).filter((role) => args[role] !== undefined)
  const codes = (['value', 'input', ...parameters] as const).map((wanted) => encodeFunction(args, wanted))
  if (codes.some((code) => code !== undefined && code.length > maxExpressionSteps * stepNumbers))
    return `its gradient has more than the ${maxExpressionSteps} steps that devices take; make two layers of it`
  return codes.includes(undefined)
    ? `it or its gradient needs more than the ${maxRegisters} values at once that devices have; make two layers of it`
    : undefined
}

/** Returns the expressions of a function that is valid, and of its derivatives. */
export const getPointwiseFunctions = (args: Function): PointwiseFunctions => {
  const valid = (wanted: Wanted): readonly number[] => {
    const code = encodeFunction(args, wanted)
    if (code === undefined) throw new Error('an expression needs more registers than devices have')
    return code
  }
  return { forward: valid('value'), backward: valid }
}
