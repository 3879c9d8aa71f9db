import { ignoredLabel } from '../images/class-list'

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
 * Counts the pixels that are not ignored; says whether each has a class, which one with a score
 * that is not finite has not.
 */
export const countPixels = ({ counts, classes }: Confusion, labels: ArrayLike<number>, predicted: ArrayLike<number>): boolean => {
  let allFinite = true
  for (let index = 0; index < labels.length; index += 1) {
    const [label, found] = [labels[index]!, predicted[index]!]
    if (label === ignoredLabel) continue
    if (found < classes) counts[label * classes + found]! += 1
    else allFinite = false
  }
  return allFinite
}

/**
 * Mean over classes of intersection over union, |labelled and predicted| / |labelled or predicted|,
 * each over the whole set (as PASCAL VOC's segmentation accuracy: Everingham et al., 2010); classes
 * that neither has are left out. Null where no pixel counts.
 */
export const meanIntersectionOverUnion = ({ counts, classes }: Confusion): number | null => {
  const all = Array.from({ length: classes }, (_, index) => index)
  const sum = (entry: (other: number) => number): number => all.reduce((total, other) => total + counts[entry(other)]!, 0)
  const shares = all.flatMap((one) => {
    const both = counts[one * classes + one]!
    const either = sum((other) => one * classes + other) + sum((other) => other * classes + one) - both
    return either === 0 ? [] : [both / either]
  })
  return shares.length === 0 ? null : shares.reduce((total, share) => total + share, 0) / shares.length
}
