/** The operations of expressions, in the order of their codes in a Program. */
export const operations = [
  // Leaves.
  'input',
  'second',
  'gradient',
  'weight',
  'bias',
  'constant',
  // Of one value.
  'neg',
  'exp',
  'expm1',
  'log',
  'log1p',
  'sqrt',
  'tanh',
  'erf',
  'sigmoid',
  'detach',
  // Of two.
  'add',
  'sub',
  'mul',
  'div',
  'minimum',
  'maximum',
  'less',
  'lessEqual',
  // Of a condition and two.
  'where'
] as const

/** The name of an operation. */
export type Operation = (typeof operations)[number]
/**
 * What an expression reads: the element, the element of a second tensor, the gradient of the
 * output, and the layer's parameters.
 */
export type Leaf = 'input' | 'second' | 'gradient' | 'weight' | 'bias'

/** Returns how many earlier results each operation takes. */
export const operandCount = (operation: Operation): number => {
  const place = operations.indexOf(operation)
  const from = (first: Operation): boolean => place >= operations.indexOf(first)
  return from('where') ? 3 : from('add') ? 2 : from('neg') ? 1 : 0
}

/**
 * One step of an expression: its operands are the places of earlier steps; a constant has its
 * value.
 */
export type ExpressionStep = readonly [operation: Operation, ...operands: readonly number[]]

/**
 * A function of single elements as data: steps in order, the last one its result. Comparisons are 1
 * or 0.
 */
export type Expression = readonly ExpressionStep[]

/** Limit of an expression's steps: the compiled code of devices has room for no more. */
export const maxExpressionSteps = 256

/** Tells whether an expression reads this leaf. */
export const reads = (expression: Expression, leaf: Leaf): boolean => expression.some(([operation]) => operation === leaf)

const showOperand = (value: unknown): string =>
  typeof value === 'string'
    ? JSON.stringify(value)
    : typeof value === 'object' && value !== null
      ? 'an object'
      : typeof value === 'function'
        ? 'a function'
        : String(value)

/** Returns why this is no expression; undefined where it is one. */
export const validateExpression = (steps: readonly (readonly unknown[])[]): string | undefined => {
  if (steps.length === 0) return 'has no steps'
  if (steps.length > maxExpressionSteps) return `has ${steps.length} steps, over the ${maxExpressionSteps} that devices take`
  for (const [place, [operation, ...operands]] of steps.entries()) {
    if (!operations.includes(operation as Operation)) return `step ${place}: there is no operation ${String(operation)}`
    if (operation === 'constant') {
      if (operands.length !== 1 || !Number.isFinite(operands[0]))
        return `step ${place}: a constant is one finite number, not ${showOperand(operands[0])}`
      continue
    }
    const isEarlier = (operand: unknown): boolean => Number.isInteger(operand) && (operand as number) >= 0 && (operand as number) < place
    if (operands.length !== operandCount(operation as Operation) || !operands.every(isEarlier))
      return `step ${place}: ${operation as Operation} takes ${operandCount(operation as Operation)} earlier steps`
  }
  return undefined
}
