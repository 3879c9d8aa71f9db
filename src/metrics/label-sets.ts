import { meanOfKnown } from './mean-of-known'
import type { Quality } from './quality'
import { areaUnderCurve } from './scores'

/** Scores of images that have each class or not, row-major [images, classes]. */
export interface LabelSetScores {
  readonly values: Float64Array
  /** 1 where the image has the class, and 0 where it has not. */
  readonly targets: ArrayLike<number>
  readonly classes: number
  /** A class is predicted where its score is above this, which is a probability of 1/2. */
  readonly threshold: number
}

/**
 * What scores say of sets of labels, each class against not being there: the share of all decisions
 * that are right, F1 and the area under the ROC curve of each class, and their means over the
 * classes that have one. F1 = 2 right / (labelled + predicted) (van Rijsbergen, 1979).
 */
export const measureLabelSets = ({ values, targets, classes, threshold }: LabelSetScores): Omit<Quality, 'loss'> => {
  const images = values.length / classes
  const all = Array.from({ length: classes }, (_, index) => index)
  const columns = all.map((one) => Float64Array.from({ length: images }, (_, image) => values[image * classes + one]!))
  const isLabelled = (image: number, one: number): boolean => targets[image * classes + one] === 1
  let agreed = 0
  const classF1 = columns.map((scores, one) => {
    let [both, either] = [0, 0]
    scores.forEach((score, image) => {
      const [labelled, predicted] = [isLabelled(image, one), score > threshold]
      if (labelled === predicted) agreed += 1
      if (labelled && predicted) both += 1
      either += (labelled ? 1 : 0) + (predicted ? 1 : 0)
    })
    return either === 0 ? null : (2 * both) / either
  })
  const classAuc = columns.map((scores, one) => areaUnderCurve(scores, (image) => isLabelled(image, one)) ?? null)
  return { accuracy: agreed / values.length, f1: meanOfKnown(classF1), classF1, auc: meanOfKnown(classAuc), classAuc }
}
