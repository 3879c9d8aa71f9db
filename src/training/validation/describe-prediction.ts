import type { Node } from '../../../staging'
import type { LabelKind } from '../../datasets/labels'
import type { SeenCrop } from '../../images/seen-crop'
import { getScoreKind } from '../../running/score-kind'

/** Describes what a network predicts of an image of a batch, beside what is true of it. */
export type DescribePrediction = (
  targets: ArrayLike<number>,
  scores: ArrayLike<number>,
  row: number
) => Pick<SeenCrop, 'text' | 'predictedClass'>

const rowAt = (numbers: ArrayLike<number>, row: number, length: number): readonly number[] =>
  Array.from({ length }, (_, index) => numbers[row * length + index]!)

/** A class by its name, or else by its number. */
const nameIn = (names: readonly string[], label: number): string => names[label] ?? `${label}`

/** The class with the highest score, and in words beside the truth with its probability. */
const describeClass =
  (classes: number, names: readonly string[]): DescribePrediction =>
  (labels, scores, row) => {
    const own = rowAt(scores, row, classes)
    const highest = Math.max(...own)
    const probability = 1 / own.reduce((sum, score) => sum + Math.exp(score - highest), 0)
    const predictedClass = own.indexOf(highest)
    const [label, predicted] = [nameIn(names, labels[row]!), nameIn(names, predictedClass)]
    return { text: `class ${label}; predicted ${predicted}, probability ${probability.toFixed(2)}`, predictedClass }
  }

const listText = (items: readonly string[]): string => (items.length === 0 ? 'none' : items.join(', '))

/** Classes whose probability is over 1/2, and in words beside those that are there. */
const describeClassSet =
  (classes: number, names: readonly string[], isLogit: boolean): DescribePrediction =>
  (targets, scores, row) => {
    const probabilities = rowAt(scores, row, classes).map((score) => (isLogit ? 1 / (1 + Math.exp(-score)) : score))
    const labelled = rowAt(targets, row, classes).flatMap((target, one) => (target === 1 ? [nameIn(names, one)] : []))
    const predicted = probabilities.flatMap((probability, one) =>
      probability > 0.5 ? [`${nameIn(names, one)} (${probability.toFixed(2)})`] : []
    )
    return { text: `classes ${listText(labelled)}; predicted ${listText(predicted)}` }
  }

const describeValues =
  (count: number): DescribePrediction =>
  (targets, scores, row) => {
    const text = (numbers: ArrayLike<number>): string =>
      rowAt(numbers, row, count)
        .map((value) => (Number.isNaN(value) ? 'unknown' : `${Number(value.toPrecision(4))}`))
        .join(', ')
    return { text: `${count === 1 ? 'value' : 'values'} ${text(targets)}; predicted ${text(scores)}` }
  }

/**
 * Chooses how predictions of a network that ends in this loss are described, of images with labels
 * of one kind: classes by softmax, sets of them by sigmoid where the loss is a binary one.
 */
export const chooseDescription = (
  kind: Exclude<LabelKind, 'mask'>,
  loss: Node,
  classes: number,
  names: readonly string[] = []
): DescribePrediction => {
  if (kind === 'class') return describeClass(classes, names)
  if (kind === 'class-set') return describeClassSet(classes, names, getScoreKind(loss) === 'sigmoid')
  const [, channels, height, width] = loss.input
  return describeValues(channels * height * width)
}
