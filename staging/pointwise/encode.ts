import { operandCount, operations, type Expression } from '../../dsl/internal'

/** Registers that devices have for an expression. */
export const maxRegisters = 32

/** Numbers of an encoded step: operation, destination, and three operands. */
export const stepNumbers = 5

/** The last step that reads each result; the result of the whole is read to the end. */
const lastReads = (expression: Expression): readonly number[] => {
  const last = expression.map((_, place) => place)
  expression.forEach(([operation, ...operands], place) => {
    if (operation !== 'constant') operands.forEach((operand) => (last[operand] = place))
  })
  last[expression.length - 1] = expression.length
  return last
}

/**
 * An expression as devices read it: of each step the operation's code, the register that it writes,
 * and three numbers, which are the registers that it reads, or a constant. The last step writes the
 * result. undefined where it needs more registers than there are.
 */
export const encodeExpression = (expression: Expression): readonly number[] | undefined => {
  const last = lastReads(expression)
  const registers: number[] = []
  const free = Array.from({ length: maxRegisters }, (_, index) => index)
  const code: number[] = []
  for (const [place, [operation, ...operands]] of expression.entries()) {
    const read = operation === 'constant' ? operands : operands.map((operand) => registers[operand]!)
    if (operation !== 'constant') for (const operand of new Set(operands)) if (last[operand] === place) free.unshift(registers[operand]!)
    const destination = free.shift()
    if (destination === undefined) return undefined
    registers.push(destination)
    code.push(
      operations.indexOf(operation),
      destination,
      ...[0, 1, 2].map((index) => (index < Math.max(1, operandCount(operation)) ? (read[index] ?? 0) : 0))
    )
  }
  return code
}
