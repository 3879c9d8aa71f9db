import * as E from 'fp-ts/Either'
import { type Graph, hasTarget } from '../../../staging'
import { type Dataset, type Example, labelKind } from '../../datasets/dataset'
import { isMask } from '../../datasets/labels'
import { type Failure, inputFailure } from '../../failure'
import type { ClassWeights } from '../../options/class-weights'

/** Images, or pixels, of each class. */
export const countLabelsByClass = ({ examples }: Dataset, classes: number): readonly number[] => {
  const counts = new Array<number>(classes).fill(0)
  for (const { label } of examples)
    if (typeof label === 'number') counts[label]! += 1
    else if (isMask(label)) for (let wanted = 0; wanted < classes; wanted += 1) counts[wanted]! += label.counts[wanted] ?? 0
  return counts
}

const balanceWeights = (counts: readonly number[]): readonly number[] => {
  const total = counts.reduce((sum, count) => sum + count, 0)
  const present = counts.filter((count) => count > 0).length
  return counts.map((count) => (count === 0 ? 0 : total / (present * count)))
}

/** Refuses weights of classes where an image has not one class, but a set of them or values. */
export const checkClassWeights = (wanted: ClassWeights | undefined, dataset: Dataset): E.Either<Failure, void> => {
  const kind = labelKind(dataset)
  return wanted === undefined || (kind !== 'class-set' && kind !== 'values')
    ? E.right(undefined)
    : E.left(
        inputFailure(
          `--class-weights weigh images or pixels of one class each, and the images have ${kind === 'values' ? 'values' : 'sets of classes'}: leave it out, or give the images a column weight`
        )
      )
}

/** Refuses weights of classes of pixels where one channel scores both: losses weigh channels. */
export const checkWeightedChannels = (
  wanted: ClassWeights | undefined,
  { model, nodes }: Pick<Graph, 'model' | 'nodes'>
): E.Either<Failure, void> => {
  const loss = nodes.at(-1)!
  return wanted === undefined || !hasTarget(loss, 'pixel-labels') || loss.input[1] > 1
    ? E.right(undefined)
    : E.left(
        inputFailure(
          `--class-weights weigh the channels of scores, and ${model} has one for both classes: leave it out, end the model in a score a class, or weigh class 1 by alpha of binary-focal`
        )
      )
}

/** Resolves the class weights of the loss, one a class, by the number of each, not all 0. */
export const resolveClassWeights = (wanted: ClassWeights, counts: readonly number[]): E.Either<Failure, readonly number[]> => {
  const classes = counts.length
  if (wanted === 'balanced') return E.right(balanceWeights(counts))
  if (wanted.length !== classes)
    return E.left(inputFailure(`--class-weights gives ${wanted.length} weights but the model has ${classes} classes: give one a class`))
  return wanted.some((weight) => weight > 0) ? E.right(wanted) : E.left(inputFailure('--class-weights are all 0: nothing would be learnt'))
}

/** Whether rows of the loss have weights: by their classes, or of their own. */
export const hasRowWeights = (dataset: Dataset, classWeights: ClassWeights | undefined): boolean =>
  labelKind(dataset) !== 'mask' && (classWeights !== undefined || dataset.examples.some(({ weight }) => weight !== undefined))

/** Weights of the row's class and of its own; 1 where neither is given. */
const exampleWeight = (classWeights: readonly number[] | undefined, { label, weight = 1 }: Pick<Example, 'label' | 'weight'>): number =>
  weight * (classWeights === undefined || typeof label !== 'number' ? 1 : (classWeights[label] ?? 0))

/** Refuses images of which none counts, by the weights of their rows and of their classes. */
export const checkRowWeights = (classWeights: readonly number[] | undefined, dataset: Dataset): E.Either<Failure, void> => {
  const { examples } = dataset
  return labelKind(dataset) === 'mask' || examples.some((example) => exampleWeight(classWeights, example) > 0)
    ? E.right(undefined)
    : E.left(
        inputFailure(`the weights of all ${examples.length} training images are 0: nothing would be learnt; give one a weight above 0`)
      )
}

/**
 * The factors of the losses of the rows of an update, so that their mean is the weighted mean
 * of the rows' losses (as in torch.nn.CrossEntropyLoss). Zero for all where no row has a weight.
 */
export const rowWeights = (
  classWeights: readonly number[] | undefined,
  rows: readonly Pick<Example, 'label' | 'weight'>[]
): readonly number[] => {
  const ofRows = rows.map((row) => exampleWeight(classWeights, row))
  const sum = ofRows.reduce((total, weight) => total + weight, 0)
  return ofRows.map((weight) => (sum === 0 ? 0 : (weight * rows.length) / sum))
}
