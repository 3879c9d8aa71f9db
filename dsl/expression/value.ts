import type { Expression, Leaf, Operation } from './expression'
import { createStepList } from './steps'

/**
 * The value of one element while a pointwise function is written down: what its methods make is
 * another one. They are named as PyTorch's functions, and are differentiated as these are. A number
 * stands for a constant.
 */
export class Value {
  constructor(
    readonly operation: Operation,
    readonly operands: readonly (Value | Condition)[],
    readonly number?: number
  ) {}

  add(other: Operand): Value {
    return new Value('add', [this, toValue(other)])
  }
  sub(other: Operand): Value {
    return new Value('sub', [this, toValue(other)])
  }
  mul(other: Operand): Value {
    return new Value('mul', [this, toValue(other)])
  }
  div(other: Operand): Value {
    return new Value('div', [this, toValue(other)])
  }
  neg(): Value {
    return new Value('neg', [this])
  }
  /** The smaller one, NaN where either is; where they are equal, each has half of the gradient. */
  minimum(other: Operand): Value {
    return new Value('minimum', [this, toValue(other)])
  }
  /** The larger one, NaN where either is; where they are equal, each has half of the gradient. */
  maximum(other: Operand): Value {
    return new Value('maximum', [this, toValue(other)])
  }
  /**
   * Not below `min` nor above `max`; the gradient passes from `min` to `max`, both included. NaN
   * stays NaN, without a gradient.
   */
  clamp(min: number, max: number): Value {
    const clipped = this.maximum(min).minimum(max).detach()
    return where(this.ge(min), where(this.le(max), this, clipped), clipped)
  }
  exp(): Value {
    return new Value('exp', [this])
  }
  /** exp(x) - 1, exact near 0. */
  expm1(): Value {
    return new Value('expm1', [this])
  }
  /** The natural logarithm. */
  log(): Value {
    return new Value('log', [this])
  }
  /** log(1 + x), exact near 0. */
  log1p(): Value {
    return new Value('log1p', [this])
  }
  sqrt(): Value {
    return new Value('sqrt', [this])
  }
  tanh(): Value {
    return new Value('tanh', [this])
  }
  /** The error function. */
  erf(): Value {
    return new Value('erf', [this])
  }
  /** 1 / (1 + exp(-x)). */
  sigmoid(): Value {
    return new Value('sigmoid', [this])
  }
  /** Returns the same value, through which no gradient flows back, as torch.Tensor.detach. */
  detach(): Value {
    return new Value('detach', [this])
  }
  lt(other: Operand): Condition {
    return new Condition('less', [this, toValue(other)])
  }
  le(other: Operand): Condition {
    return new Condition('lessEqual', [this, toValue(other)])
  }
  gt(other: Operand): Condition {
    return new Condition('less', [toValue(other), this])
  }
  ge(other: Operand): Condition {
    return new Condition('lessEqual', [toValue(other), this])
  }
}

/** A comparison of two values, for `where`; it is false where either is NaN. */
export class Condition {
  constructor(
    readonly operation: 'less' | 'lessEqual',
    readonly operands: readonly [Value, Value]
  ) {}
}

/** What a method of an expression takes: another value, or a number that is the same everywhere. */
export type Operand = Value | number

/** The value of an expression that is this number everywhere. */
export const constant = (value: number): Value => new Value('constant', [], value)
/** What is no value, since no compiler saw it, is kept as a constant, which the layer refuses. */
const toValue = <V extends Value | Condition>(operand: V | number): V | Value =>
  operand instanceof Value || operand instanceof Condition ? operand : constant(operand)

/**
 * `then` where the condition holds, else `otherwise`; the gradient is that of the one that is
 * taken.
 */
export const where = (condition: Condition, then: Operand, otherwise: Operand): Value =>
  new Value('where', [toValue(condition), toValue(then), toValue(otherwise)])

/** The value of an expression that reads one of its inputs, such as the element. */
export const leaf = (name: Leaf): Value => new Value(name, [])

/** The steps that compute a value, each distinct one once. */
export const toExpression = (result: Value): Expression => {
  const { steps, append } = createStepList()
  const known = new Map<Value | Condition, number>()
  // An expression may be deeper than calls may be nested.
  const pending: (Value | Condition)[] = [toValue(result)]
  while (pending.length > 0) {
    const value = pending.at(-1)!
    const missing = known.has(value) ? [] : value.operands.filter((operand) => !known.has(operand))
    pending.push(...missing.reverse())
    if (missing.length > 0) continue
    pending.pop()
    if (known.has(value)) continue
    const operands = value.operation === 'constant' ? [value.number!] : value.operands.map((operand) => known.get(operand)!)
    known.set(value, append(value.operation, ...operands))
  }
  return steps
}
