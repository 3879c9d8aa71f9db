import { createStepList, type Expression, type ExpressionStep as Step, type Operation } from '../../dsl/internal'

/**
 * Writes an expression step by step: each distinct step once, constants folded, and nothing times 0
 * or 1 or plus 0.
 */
export interface ExpressionBuilder {
  readonly constant: (value: number) => number
  readonly step: (operation: Operation, ...operands: readonly number[]) => number
  /** The steps that this result needs. */
  readonly expression: (result: number) => Expression
}

const folded: { readonly [O in Operation]?: (a: number, b: number) => number } = {
  neg: (a) => -a,
  add: (a, b) => a + b,
  sub: (a, b) => a - b,
  mul: (a, b) => a * b,
  div: (a, b) => a / b
}

/** Returns only the steps that the last one needs, in the same order. */
const dropUnneeded = (steps: readonly Step[], result: number): Expression => {
  const wanted = new Set([result])
  for (let place = result; place >= 0; place--)
    if (wanted.has(place) && steps[place]![0] !== 'constant') steps[place]!.slice(1).forEach((operand) => wanted.add(operand as number))
  const places = [...wanted].sort((a, b) => a - b)
  return places.map((place) => {
    const [operation, ...operands] = steps[place]!
    return operation === 'constant' ? steps[place]! : [operation, ...operands.map((operand) => places.indexOf(operand))]
  })
}

/** An expression builder that has written nothing. */
export const createExpressionBuilder = (): ExpressionBuilder => {
  const { steps, append } = createStepList()
  const constant = (value: number): number => append('constant', value)
  const valueOf = (place: number | undefined): number | undefined =>
    place !== undefined && steps[place]![0] === 'constant' ? steps[place]![1] : undefined

  /**
   * Finds a step that is simpler, and rounds no worse. Signs of zeros aside, a derivative of 0
   * stays 0 whatever it is multiplied with.
   */
  const simpler = (operation: Operation, a: number, b: number): number | undefined => {
    const [left, right] = [valueOf(a), valueOf(b)]
    switch (operation) {
      case 'add':
        return left === 0 ? b : right === 0 ? a : undefined
      case 'sub':
        return right === 0 ? a : left === 0 ? step('neg', b) : undefined
      case 'mul': {
        if (left === 0 || right === 0) return constant(0)
        if (left === 1) return b
        if (right === 1) return a
        if (right !== undefined) return step('mul', b, a)
        const inner = steps[b]!
        const factor = inner[0] === 'mul' ? valueOf(inner[1]) : undefined
        return left !== undefined && factor !== undefined ? step('mul', constant(left * factor), inner[2]!) : undefined
      }
      case 'div':
        return left === 0 ? constant(0) : right === 1 ? a : undefined
      case 'neg':
        return steps[a]![0] === 'neg' ? steps[a]![1]! : undefined
      default:
        return undefined
    }
  }
  const step = (operation: Operation, ...operands: readonly number[]): number => {
    const [a, b, c] = operands
    const fold = folded[operation]
    const values = operands.map(valueOf)
    if (fold !== undefined && values.every((value) => value !== undefined)) {
      const value = fold(values[0]!, values[1] ?? 0)
      if (Number.isFinite(value)) return constant(value)
    }
    if (operation === 'where' && b === c) return b!
    return (a === undefined ? undefined : simpler(operation, a, b ?? a)) ?? append(operation, ...operands)
  }
  return { constant, step, expression: (result) => dropUnneeded(steps, result) }
}
