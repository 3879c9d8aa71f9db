import * as E from 'fp-ts/Either'
import { type Failure, inputFailure } from '../failure'
import { ignoredLabel } from './class-list'
import { type Label, type LabelKind, isMask, getLabelKind } from './labels'
import { type Mask, largestClass } from './masks/masks'

/** An image file, and what is known of it. */
export interface Example {
  readonly path: string
  readonly label: Label
  /** The place that named the image, for sentences: `data.csv line 3`, or a folder. */
  readonly origin: string
  /** How much it counts in the loss; 1 where absent. */
  readonly weight?: number
  /** A mask, whose pixels other than 0, or polygons, are where crops are drawn. */
  readonly tissue?: string
}

/** Images with labels of one kind. */
export interface Dataset {
  readonly examples: readonly Example[]
  /**
   * Number of classes: the class list's, the folders, or the largest label (255 of masks left out)
   * plus one; of values, how many an image has.
   */
  readonly classes: number
  /** Names of the classes, or of the values. */
  readonly names?: readonly string[]
  /** The file or folder that it was read from. */
  readonly source?: string
  /** A sentence on images in the folder, or rows of the file, that are not read. */
  readonly leftOut?: string
  /** Images and masks that cannot be read, whose rows were left out as was asked. */
  readonly skippedFiles?: readonly string[]
}

/** The kind of all labels of a dataset; undefined where they differ. */
export const labelKind = ({ examples }: Pick<Dataset, 'examples'>): LabelKind | undefined => {
  const [kind, ...others] = new Set(examples.map(({ label }) => getLabelKind(label)))
  return others.length === 0 ? kind : undefined
}

/** Classes of images that have one each; undefined where labels are of another kind. */
export const imageLabels = ({ examples }: Pick<Dataset, 'examples'>): readonly number[] | undefined => {
  const labels = examples.flatMap(({ label }) => (typeof label === 'number' ? [label] : []))
  return labels.length === examples.length ? labels : undefined
}

/** The masks of a dataset, in its order. */
export const listMasks = ({ examples }: Pick<Dataset, 'examples'>): readonly Mask[] =>
  examples.flatMap(({ label }) => (isMask(label) ? [label] : []))

/** The largest class in a label; -1 where there is none. */
export const largestLabel = (label: Label): number => {
  if (typeof label === 'number') return label
  if (isMask(label)) return largestClass(label)
  return 'classes' in label ? Math.max(-1, ...label.classes) : -1
}

const isClass = (value: number): boolean => Number.isInteger(value) && value >= 0

/** The first class of a label that is no class at all. */
const findInvalidClass = (label: Label): number | undefined => {
  if (typeof label === 'number') return isClass(label) ? undefined : label
  return !isMask(label) && 'classes' in label ? label.classes.find((one) => !isClass(one)) : undefined
}

/** The labels must fit the model's classes; `ignored` is what does not count in masks. */
export const checkLabels =
  (classes: number, ignored: number = ignoredLabel) =>
  (dataset: Dataset): E.Either<Failure, Dataset> => {
    const none = dataset.examples.find(({ label }) => findInvalidClass(label) !== undefined)
    if (none !== undefined)
      return E.left(inputFailure(`${none.origin}: the label ${String(findInvalidClass(none.label))} is not an integer from 0 upwards`))
    const wrong = dataset.examples.find(({ label }) => largestLabel(label) >= classes)
    if (wrong === undefined) return E.right(dataset)
    const range = `out of range: the model's classes are 0 to ${classes - 1}`
    const { origin, label } = wrong
    const ofOne = (remedy: string): string => (classes === 1 ? `; end the model in a score a class, or ${remedy}` : '')
    return E.left(
      inputFailure(
        isMask(label)
          ? `${origin}: the mask ${label.path} holds the class ${largestClass(label)}, ${range}, and ${ignored} is ignored${ofOne('give --loss binary-cross-entropy, by which one score tells 1 from 0')}`
          : `${origin}: the label ${largestLabel(label)} is ${range}${ofOne('name the column class:NAME in place of label and give --loss binary-cross-entropy')}`
      )
    )
  }
