import type { Expression } from '../../dsl/internal'
import { createExpressionBuilder, type ExpressionBuilder } from './builder'

/** The variables by which an expression can be differentiated. */
export type Variable = 'input' | 'second' | 'weight' | 'bias'

const twoOverRootOfPi = 2 / Math.sqrt(Math.PI)

/**
 * The derivative of one step: `a` and `b` are its operands, da, db, dc their derivatives, and y its
 * own value.
 */
const differentiateStep = (
  { step, constant }: ExpressionBuilder,
  operation: Expression[number][0],
  [a, b]: readonly number[],
  [da, db, dc]: readonly number[],
  y: number
): number => {
  const [mul, add, sub] = (['mul', 'add', 'sub'] as const).map((one) => (left: number, right: number) => step(one, left, right)) as [
    (left: number, right: number) => number,
    (left: number, right: number) => number,
    (left: number, right: number) => number
  ]
  const one = constant(1)
  switch (operation) {
    case 'neg':
      return step('neg', da!)
    case 'exp':
      return mul(da!, y)
    case 'expm1':
      return mul(da!, add(y, one))
    case 'log':
      return step('div', da!, a!)
    case 'log1p':
      return step('div', da!, add(a!, one))
    case 'sqrt':
      return step('div', da!, mul(constant(2), y))
    case 'tanh':
      return mul(da!, sub(one, mul(y, y)))
    case 'erf':
      return mul(da!, mul(constant(twoOverRootOfPi), step('exp', step('neg', mul(a!, a!)))))
    case 'sigmoid':
      return mul(da!, mul(y, sub(one, y)))
    case 'add':
      return add(da!, db!)
    case 'sub':
      return sub(da!, db!)
    case 'mul':
      return add(mul(da!, b!), mul(db!, a!))
    case 'div':
      return sub(step('div', da!, b!), step('div', mul(db!, y), b!))
    // As PyTorch: equal ones share the gradient, and where one is NaN both have all of it.
    case 'minimum':
    case 'maximum': {
      const half = mul(constant(0.5), add(da!, db!))
      const [first, second] = operation === 'minimum' ? [a!, b!] : [b!, a!]
      const shared = step('where', step('lessEqual', a!, b!), half, add(da!, db!))
      return step('where', step('less', first, second), da!, step('where', step('less', second, first), db!, shared))
    }
    case 'where':
      return step('where', a!, db!, dc!)
    case 'detach':
    case 'input':
    case 'second':
    case 'gradient':
    case 'weight':
    case 'bias':
    case 'constant':
    case 'less':
    case 'lessEqual':
      return constant(0)
  }
}

/**
 * The gradient of what a variable is, from `gradient`, that of the expression's value: reverse of
 * each step, forward over all of them.
 */
export const differentiate = (expression: Expression, variable: Variable): Expression => {
  const builder = createExpressionBuilder()
  const [values, derivatives]: [number[], number[]] = [[], []]
  for (const [operation, ...operands] of expression) {
    if (operation === 'constant') {
      values.push(builder.constant(operands[0]!))
      derivatives.push(builder.constant(0))
      continue
    }
    const taken = operands.map((operand) => values[operand]!)
    const y = builder.step(operation, ...taken)
    values.push(y)
    derivatives.push(
      operation === variable
        ? builder.constant(1)
        : differentiateStep(
            builder,
            operation,
            taken,
            operands.map((operand) => derivatives[operand]!),
            y
          )
    )
  }
  return builder.expression(builder.step('mul', builder.step('gradient'), derivatives.at(-1)!))
}

/** The gradient of the input from a derivative that is given as an expression of its own. */
export const timesGradient = (derivative: Expression): Expression => [
  ...derivative,
  ['gradient'],
  ['mul', derivative.length, derivative.length - 1]
]
