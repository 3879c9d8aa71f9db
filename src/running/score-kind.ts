import * as E from 'fp-ts/Either'
import { familyOf, parseLoss } from '../../dsl'
import { type Node, hasTarget, lossFunctions } from '../../staging'

/**
 * What scores are, by the loss that they are trained by: of classes that exclude each other
 * (softmax), of each class by itself (sigmoid), or values as they are.
 */
export type ScoreKind = 'softmax' | 'sigmoid' | 'value'

const isBinary = (formula: string): boolean => {
  const parsed = parseLoss(formula)
  return E.isRight(parsed) && parsed.right.some((term) => familyOf(term) === 'binary')
}

/** What the scores are of a network that ends in this loss. */
export const scoreKindOf = (loss: Node): ScoreKind => {
  const formula = 'loss' in loss.args ? loss.args.loss : undefined
  if (hasTarget(loss, 'values')) return formula !== undefined && isBinary(formula) ? 'sigmoid' : 'value'
  return formula === undefined || lossFunctions(formula, loss.input[1]).softmax ? 'softmax' : 'sigmoid'
}
