import * as E from 'fp-ts/Either'
import { constant, toExpression, getLossFamily, parseLoss, where, type LossName, type LossTerm, type Value } from '../../dsl'
import { leaf } from '../../dsl/internal'
import { differentiate } from './differentiate'
import { encodeExpression } from './encode'

/** The Tversky index of each image and class, (I + smooth) / (I + alpha FP + beta FN + smooth). */
export interface Overlap {
  readonly alpha: number
  readonly beta: number
  readonly smooth: number
  /** By which their mean is multiplied. */
  readonly weight: number
}

/** The expressions of a loss that devices run. */
export interface LossFunctions {
  /** Whether its `input` is the logarithm of the softmax over channels; else the score itself. */
  readonly softmax: boolean
  /** Encoded: the loss of one channel of a pixel, whose target is `second`. */
  readonly forward: readonly number[]
  /** Encoded: `gradient` times its derivative by `input`. */
  readonly backward: readonly number[]
  /** Dice or Tversky beside it. */
  readonly overlap: Overlap | undefined
}

/** A power of a number that is not below 0; gradients stay finite at 0. */
const power = (base: Value, exponent: number): Value =>
  exponent === 0 ? constant(1) : exponent === 1 ? base : exponent === 2 ? base.mul(base) : base.maximum(1e-30).log().mul(exponent).exp()

const absolute = (value: Value): Value => value.maximum(value.neg())

/** −t log sigmoid(x) − (1 − t) log(1 − sigmoid(x)), without overflow. */
const binaryCrossEntropy = (x: Value, target: Value): Value => x.maximum(0).sub(x.mul(target)).add(absolute(x).neg().exp().log1p())

/**
 * The loss of one channel by its input and target; `classes` are as many as a softmax goes over. Of
 * a class that is not wanted the input may be minus infinity.
 */
const losses: {
  readonly [N in LossName]?: (x: Value, target: Value, options: LossTerm['options'], classes: number) => Value
} = {
  'cross-entropy': (x, target, { smoothing }, classes) => {
    const smoothed = target.mul(1 - smoothing!).add(smoothing! / classes)
    return where(smoothed.gt(0), smoothed.mul(x).neg(), 0)
  },
  focal: (x, target, { gamma }) => where(target.gt(0), power(x.expm1().neg(), gamma!).mul(x).neg(), 0),
  'binary-cross-entropy': (x, target, { smoothing }) => binaryCrossEntropy(x, target.mul(1 - smoothing!).add(smoothing! / 2)),
  'binary-focal': (x, target, { gamma, alpha }) => {
    const not = constant(1).sub(target)
    const wrong = target.mul(x.neg().sigmoid()).add(not.mul(x.sigmoid()))
    const loss = power(wrong, gamma!).mul(binaryCrossEntropy(x, target))
    return alpha! < 0 ? loss : loss.mul(target.mul(alpha!).add(not.mul(1 - alpha!)))
  },
  'mean-squared-error': (x, target) => x.sub(target).mul(x.sub(target)),
  'mean-absolute-error': (x, target) => absolute(x.sub(target)),
  huber: (x, target, { delta }) => {
    const distance = absolute(x.sub(target))
    return where(distance.le(delta!), distance.mul(distance).div(2), distance.sub(delta! / 2).mul(delta!))
  }
}

/** Dice is the Tversky index of 1/2 and 1/2, of which all is halved. */
const toOverlap = ({ name, weight, options: { alpha, beta, smooth } }: LossTerm): Overlap =>
  name === 'dice' ? { alpha: 0.5, beta: 0.5, smooth: smooth! / 2, weight } : { alpha: alpha!, beta: beta!, smooth: smooth!, weight }

const encode = (expression: ReturnType<typeof toExpression>): readonly number[] => {
  const code = encodeExpression(expression)
  if (code === undefined) throw new Error('a loss needs more registers than devices have')
  return code
}

const known = new Map<string, LossFunctions>()

/**
 * The functions of a formula that is valid, of scores of so many channels; remembered, since plans
 * are made of thousands of launches.
 */
export const lossFunctions = (formula: string, channels: number): LossFunctions => {
  const key = `${channels} ${formula}`
  const before = known.get(key)
  if (before !== undefined) return before
  const parsed = parseLoss(formula)
  if (E.isLeft(parsed)) throw new Error(parsed.left)
  const terms = parsed.right
  const [input, target] = [leaf('input'), leaf('second')]
  const sum = terms.reduce<Value>((before, { name, weight, options }) => {
    const value = losses[name]?.(input, target, options, channels)
    return value === undefined ? before : before.add(value.mul(weight))
  }, constant(0))
  const expression = toExpression(sum)
  const families = terms.map(getLossFamily)
  const overlap = terms.find((term) => getLossFamily(term) === 'overlap')
  const made: LossFunctions = {
    softmax: families.includes('classes') || (families.every((family) => family === 'overlap') && channels > 1),
    forward: encode(expression),
    backward: encode(differentiate(expression, 'input')),
    overlap: overlap && toOverlap(overlap)
  }
  known.set(key, made)
  return made
}
