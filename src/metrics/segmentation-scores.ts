import { ignoredLabel } from '../datasets/class-list'

/**
 * The confusion matrix: counts of pixels by class, row-major [classes of the masks, classes of the
 * network].
 */
interface Confusion {
  readonly counts: Float64Array
  readonly classes: number
}

/** A confusion matrix [classes, classes] of zeros. */
export const emptyConfusion = (classes: number): Confusion => ({ counts: new Float64Array(classes * classes), classes })

/**
 * Counts the pixels of other labels than the one that is ignored; says whether each has a class,
 * which one with a score that is not finite has not.
 */
export const countPixels = (
  { counts, classes }: Confusion,
  labels: ArrayLike<number>,
  predicted: ArrayLike<number>,
  ignored: number = ignoredLabel
): boolean => {
  let allFinite = true
  for (let index = 0; index < labels.length; index += 1) {
    const [label, found] = [labels[index]!, predicted[index]!]
    if (label === ignored) continue
    if (found < classes) counts[label * classes + found]! += 1
    else allFinite = false
  }
  return allFinite
}
