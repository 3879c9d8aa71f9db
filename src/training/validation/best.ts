import type { LabelKind } from '../../datasets/labels'
import type { Quality } from '../../metrics/quality'
import type { ValidateOn } from './validate-on'

/** A validation after `step` steps. */
export interface Validation extends Quality {
  readonly step: number
  /** Whether whole images were validated or their middle crops, where labels are masks. */
  readonly validatedOn?: ValidateOn
}

/** Measures by which one validation is better than another: lower errors, higher other ones. */
export const bestMeasures = [
  'loss',
  'accuracy',
  'auc',
  'iou',
  'dice',
  'kappa',
  'f1',
  'mae',
  'r2'
] as const satisfies readonly (keyof Quality)[]
/** The name of a measure by which validations are compared. */
export type BestBy = (typeof bestMeasures)[number]

/**
 * The measures that there are of labels of a kind; of masks, areas under curves are of whole images
 * alone.
 */
export const measuresByKind: Readonly<Record<LabelKind, readonly BestBy[]>> = {
  class: ['loss', 'accuracy', 'auc', 'kappa'],
  'class-set': ['loss', 'accuracy', 'auc', 'f1'],
  values: ['loss', 'mae', 'r2'],
  mask: ['loss', 'accuracy', 'auc', 'iou', 'dice', 'kappa']
}

/** The best validation, and how long ago it was. */
export interface Best extends Validation {
  /** Validations since, none of which was better. */
  readonly since: number
}

const isBetter = (by: BestBy, candidate: Quality, than: Quality): boolean => {
  const [value, previous] = [candidate[by] ?? null, than[by] ?? null]
  if (value === null || previous === null) return value !== null
  return by === 'loss' || by === 'mae' ? value < previous : value > previous
}

/**
 * The best of the validations in turn; of equals the first. Those of crops and those of whole
 * images are not compared: only such count as the latest one is.
 */
export const findBest = (by: BestBy, all: readonly Validation[]): Best | undefined => {
  const validations = all.filter(({ validatedOn }) => validatedOn === all.at(-1)!.validatedOn)
  const index = validations.reduce((best, candidate, at) => (isBetter(by, candidate, validations[best]!) ? at : best), 0)
  const best = validations[index]
  return best && { ...best, since: validations.length - 1 - index }
}
