import { meanOfKnown } from './mean-of-known'

/** Counts of images or pixels: [labelled][predicted]. */
export type ConfusionMatrix = readonly (readonly number[])[]

/** What a confusion matrix says of a validation set; null where that divides by 0. */
export interface ConfusionMeasures {
  readonly confusion: ConfusionMatrix
  /**
   * The intersection over union of each class: |labelled and predicted| / |labelled or predicted|.
   */
  readonly classIou: readonly (number | null)[]
  /**
   * Mean over the classes that are labelled or predicted somewhere, each over the whole set (as
   * PASCAL VOC's segmentation accuracy: Everingham et al., 2010).
   */
  readonly iou: number | null
  /** The Dice score of each class: 2 |labelled and predicted| / (|labelled| + |predicted|). */
  readonly classDice: readonly (number | null)[]
  /** Mean over the classes that are labelled or predicted somewhere. */
  readonly dice: number | null
  /**
   * Cohen's kappa, (agreement - that of chance) / (1 - that of chance) (Cohen, 1960), unweighted.
   */
  readonly kappa: number | null
}

/** Classes of which a matrix is kept: one of more would be longer than all else that is written. */
export const mostConfused = 256

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)
const share = (part: number, whole: number): number | null => (whole === 0 ? null : part / whole)

/** Row-major counts [classes, classes] as rows. */
export const makeConfusionMatrix = (counts: ArrayLike<number>, classes: number): ConfusionMatrix =>
  Array.from({ length: classes }, (_, row) => Array.from({ length: classes }, (__, column) => counts[row * classes + column]!))

/**
 * Measures by a confusion matrix, a row for each class of the labels: intersection over union and
 * Dice of each class, their means, and Cohen's kappa. Null where nothing counts.
 */
export const measureConfusion = (confusion: ConfusionMatrix): ConfusionMeasures => {
  const labelled = confusion.map(sum)
  const predicted = confusion.map((_, column) => sum(confusion.map((row) => row[column]!)))
  const right = confusion.map((row, index) => row[index]!)
  const classDice = right.map((both, index) => share(2 * both, labelled[index]! + predicted[index]!))
  const classIou = right.map((both, index) => share(both, labelled[index]! + predicted[index]! - both))
  const all = sum(labelled)
  const chance = all === 0 ? 1 : sum(labelled.map((count, index) => (count / all) * (predicted[index]! / all)))
  return {
    confusion,
    classIou,
    iou: meanOfKnown(classIou),
    classDice,
    dice: meanOfKnown(classDice),
    kappa: chance === 1 ? null : (sum(right) / all - chance) / (1 - chance)
  }
}
