import * as E from 'fp-ts/Either'
import { type Dataset, type Example, labelKind } from '../../datasets/dataset'
import { labelNames } from '../../datasets/labels'
import { type Failure, inputFailure } from '../../failure'
import type { TrainingRequest } from '../request'
import { permutation } from '../batches/sampling'

/** The images to train on, and those to validate on, none of which is in both. */
export interface Split {
  readonly training: Dataset
  readonly validation: Dataset | undefined
}

/**
 * Returns the number of a class's images to validate on: the fraction, but at least one of two and
 * never all.
 */
const share = (fraction: number, count: number): number => Math.min(count - 1, Math.max(count > 1 ? 1 : 0, Math.round(fraction * count)))

/**
 * Sets a fraction of each class, or of all images with masks, aside for validation, drawn from the
 * seed.
 */
export const splitDataset = (dataset: Dataset, fraction: number, seed: number): E.Either<Failure, Split> => {
  const byClass = new Map<number, Example[]>()
  for (const example of dataset.examples) {
    const label = typeof example.label === 'number' ? example.label : 0
    const ofClass = byClass.get(label) ?? []
    ofClass.push(example)
    byClass.set(label, ofClass)
  }
  const held = new Set<Example>()
  for (const [label, ofClass] of byClass) {
    const order = permutation(seed, `validation.${label}`, ofClass.length)
    for (const index of order.slice(0, share(fraction, ofClass.length))) held.add(ofClass[index]!)
  }
  const part = (wanted: boolean): Dataset => ({ ...dataset, examples: dataset.examples.filter((example) => held.has(example) === wanted) })
  return held.size === 0
    ? E.left(inputFailure(`--validation ${fraction} of ${dataset.examples.length} images leaves none: each class needs two or more`))
    : E.right({ training: part(false), validation: part(true) })
}

/**
 * Both have labels of one kind; where both have names of classes, they must be the same, for they
 * are numbered by their names.
 */
const sameClasses = (training: Dataset, validation: Dataset): E.Either<Failure, Split> => {
  const kind = labelKind(training) ?? 'class'
  if (kind !== labelKind(validation))
    return E.left(inputFailure(`--data has ${labelNames[kind]} and --validation has not: give it the same`))
  const [trained, validated] = [training.names?.join(', '), validation.names?.join(', ')]
  return trained === undefined || validated === undefined || trained === validated
    ? E.right({ training, validation })
    : E.left(
        inputFailure(
          `--validation has the classes ${validated} but --data has ${trained}: give it the same, ${labelKind(training) === 'mask' ? 'or --class-names' : 'empty ones included'}`
        )
      )
}

/** The images to train on, and those to validate on where that is asked for. */
export const splitForValidation = (
  { dataset, validation }: Pick<TrainingRequest, 'dataset' | 'validation'>,
  seed: number
): E.Either<Failure, Split> => {
  if (validation === undefined) return E.right({ training: dataset, validation: undefined })
  return typeof validation === 'number' ? splitDataset(dataset, validation, seed) : sameClasses(dataset, validation)
}
