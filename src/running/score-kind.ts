import * as E from 'fp-ts/Either'
import * as t from 'io-ts'
import { getLossFamily, parseLoss } from '../../dsl'
import { type Node, hasTarget, lossFunctions } from '../../staging'

/** Codec of what scores are. */
export const scoreKindCodec = t.keyof({ softmax: null, sigmoid: null, value: null })

/**
 * What scores are, by the loss that they are trained by: of classes that exclude each other
 * (softmax), of each class by itself (sigmoid), or values as they are.
 */
export type ScoreKind = t.TypeOf<typeof scoreKindCodec>

/** What scores are by a formula, which must be valid, of so many channels. */
export const scoreKindOfFormula = (formula: string, channels: number): ScoreKind => {
  const parsed = parseLoss(formula)
  const families = E.isRight(parsed) ? parsed.right.map(getLossFamily) : []
  if (families.includes('binary')) return 'sigmoid'
  if (families.includes('values')) return 'value'
  return lossFunctions(formula, channels).softmax ? 'softmax' : 'sigmoid'
}

/** The formula of a loss; undefined of the cross-entropy that a model without one gets. */
export const getLossFormula = (loss: Node): string | undefined =>
  'loss' in loss.args ? loss.args.loss : hasTarget(loss, 'values') ? 'mean-squared-error' : undefined

/** What the scores are of a network that ends in this loss. */
export const getScoreKind = (loss: Node): ScoreKind => {
  const formula = getLossFormula(loss)
  return formula === undefined ? 'softmax' : scoreKindOfFormula(formula, loss.input[1])
}
