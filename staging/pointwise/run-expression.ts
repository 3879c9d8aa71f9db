import { operations } from '../../dsl/internal'
import { stepNumbers } from './encode'

/** The leaves of a function of single elements, a value each for every element. */
export interface ElementLeaves {
  readonly input: Float64Array
  readonly second: Float64Array
}

type Take = (a: number, b: number, c: number) => number

const sigmoid: Take = (a) => 1 / (1 + Math.exp(-a))

/** As `native/src/kernels/operations.hpp` has them, in double. */
const computations: { readonly [name: string]: Take } = {
  neg: (a) => -a,
  exp: Math.exp,
  expm1: Math.expm1,
  log: Math.log,
  log1p: Math.log1p,
  sqrt: Math.sqrt,
  tanh: Math.tanh,
  sigmoid,
  detach: (a) => a,
  add: (a, b) => a + b,
  sub: (a, b) => a - b,
  mul: (a, b) => a * b,
  div: (a, b) => a / b,
  minimum: (a, b) => (a < b || Number.isNaN(a) ? a : b),
  maximum: (a, b) => (a > b || Number.isNaN(a) ? a : b),
  less: (a, b) => (a < b ? 1 : 0),
  lessEqual: (a, b) => (a <= b ? 1 : 0),
  where: (a, b, c) => (a === 0 ? c : b)
}

/**
 * Computes an encoded expression of `input` and `second` on the host, in double, for the first
 * `count` elements. Throws for one that reads other leaves or takes an error function, which no
 * loss does.
 */
export const runExpression = (code: readonly number[], { input, second }: ElementLeaves, count: number): Float64Array => {
  const registers: Float64Array[] = []
  let result = input
  for (let at = 0; at < code.length; at += stepNumbers) {
    const [operation, destination, a, b, c] = code.slice(at, at + stepNumbers) as [number, number, number, number, number]
    const name = operations[operation]!
    if (name === 'input') result = input
    else if (name === 'second') result = second
    else {
      // A register that is read may be written at once: each is made anew.
      result = new Float64Array(count)
      const compute = computations[name]
      if (name === 'constant') result.fill(a)
      else if (compute === undefined) throw new Error(`an expression on the host has no ${name}`)
      else {
        const [first, other, last] = [registers[a]!, registers[b] ?? input, registers[c] ?? input]
        for (let index = 0; index < count; index += 1) result[index] = compute(first[index]!, other[index]!, last[index]!)
      }
    }
    registers[destination] = result
  }
  return result
}
