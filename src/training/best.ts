import type { Quality } from '../metrics/scores'

/** A validation after `step` steps. */
export interface Validation extends Quality {
  readonly step: number
}

/** Measures by which one validation is better than another: a lower loss, a higher other one. */
export const bestBys = ['loss', 'accuracy', 'auc', 'iou', 'dice', 'kappa'] as const satisfies readonly (keyof Quality)[]
export type BestBy = (typeof bestBys)[number]

export interface Best extends Validation {
  /** Validations since, none of which was better. */
  readonly since: number
}

const isBetter = (by: BestBy, candidate: Quality, than: Quality): boolean => {
  const [value, previous] = [candidate[by] ?? null, than[by] ?? null]
  if (value === null || previous === null) return value !== null
  return by === 'loss' ? value < previous : value > previous
}

/** The best of the validations in turn; of equals the first. */
export const findBest = (by: BestBy, validations: readonly Validation[]): Best | undefined => {
  const index = validations.reduce((best, candidate, at) => (isBetter(by, candidate, validations[best]!) ? at : best), 0)
  const best = validations[index]
  return best && { ...best, since: validations.length - 1 - index }
}
