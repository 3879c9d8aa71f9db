import { measureConfusion, mostConfused, makeConfusionMatrix } from './confusion'
import { meanOfKnown } from './mean-of-known'
import type { Quality } from './quality'

/** Row-major [images, classes]. */
interface Scores {
  readonly values: Float64Array
  readonly classes: number
  readonly labels: readonly number[]
}

const imageScores = ({ values, classes }: Scores, image: number): Float64Array => values.subarray(image * classes, (image + 1) * classes)

const argmax = (row: Float64Array): number => row.reduce((largest, value, index) => (value > row[largest]! ? index : largest), 0)

/** log(sum(exp(row))), without overflow; over all but one entry where `without` says which. */
const logSumExp = (row: Float64Array, without = -1): number => {
  let largest = -Infinity
  for (let index = 0; index < row.length; index += 1) if (index !== without && row[index]! > largest) largest = row[index]!
  let sum = 0
  for (let index = 0; index < row.length; index += 1) if (index !== without) sum += Math.exp(row[index]! - largest)
  return largest + Math.log(sum)
}

/**
 * Area under the ROC curve as the rank statistic of Mann and Whitney, ties counted half; undefined
 * where all or none are positive, or a value is NaN, which has no rank.
 */
export const areaUnderCurve = (values: Float64Array, isPositive: (index: number) => boolean): number | undefined => {
  if (values.some(Number.isNaN)) return undefined
  const order = Array.from(values.keys()).sort((a, b) => values[a]! - values[b]!)
  let [positives, rankSum] = [0, 0]
  for (let start = 0; start < order.length;) {
    let end = start
    while (end < order.length && values[order[end]!] === values[order[start]!]) end += 1
    const tied = order.slice(start, end).filter(isPositive).length
    positives += tied
    // Ranks count from 1; those that are tied share their mean.
    rankSum += (tied * (start + 1 + end)) / 2
    start = end
  }
  const negatives = values.length - positives
  return positives === 0 || negatives === 0 ? undefined : (rankSum - (positives * (positives + 1)) / 2) / (positives * negatives)
}

/**
 * Log-odds of a class for every image: in the order of its softmax probability, but without ties
 * where that rounds to 1.
 */
const logOdds = (scores: Scores): ((wanted: number) => Float64Array) => {
  const rows = scores.labels.map((_, image) => {
    const row = imageScores(scores, image)
    const found = argmax(row)
    return { row, found, sum: row.reduce((sum, value) => sum + Math.exp(value - row[found]!), 0) }
  })
  return (wanted) =>
    Float64Array.from(rows, ({ row, found, sum }) => {
      const value = row[wanted]!
      // Without the largest little may be left, which a difference would lose.
      if (wanted === found || row.length === 2) return value - logSumExp(row, wanted)
      return value - row[found]! - Math.log(sum - Math.exp(value - row[found]!))
    })
}

const meanAuc = (scores: Scores): number | null => {
  const { classes, labels } = scores
  const wanted = classes === 2 ? [1] : Array.from({ length: classes }, (_, index) => index)
  const oddsOf = logOdds(scores)
  return meanOfKnown(wanted.map((of) => areaUnderCurve(oddsOf(of), (image) => labels[image] === of) ?? null))
}

/**
 * Measures scores [images, classes] against labels: mean cross-entropy, accuracy, area under the
 * curve, and the measures of the confusion matrix unless there are too many classes for one.
 */
export const measureQuality = (scores: Scores): Quality => {
  const { labels } = scores
  const { classes } = scores
  const counts = classes > mostConfused ? undefined : new Float64Array(classes ** 2)
  let [loss, right] = [0, 0]
  for (const [image, label] of labels.entries()) {
    const row = imageScores(scores, image)
    const found = argmax(row)
    loss += logSumExp(row) - row[label]!
    if (counts !== undefined) counts[label * classes + found]! += 1
    if (found === label) right += 1
  }
  const measured = { loss: loss / labels.length, accuracy: right / labels.length, auc: meanAuc(scores) }
  if (counts === undefined) return measured
  const { confusion, kappa } = measureConfusion(makeConfusionMatrix(counts, classes))
  return { ...measured, kappa, confusion }
}
