import { ignoredLabel } from '../datasets/class-list'
import { type Dataset, imageLabels, labelKind, listMasks } from '../datasets/dataset'
import { isMask, labelNumbers } from '../datasets/labels'
import type { Mask } from '../datasets/masks/masks'
import type { BestBy } from './validation/best'
import type { Split } from './validation/validation-split'

/** Values that count in any of the masks. */
const classesIn = (masks: readonly Mask[]): readonly number[] =>
  Array.from({ length: ignoredLabel }, (_, value) => value).filter((value) => masks.some(({ counts }) => counts[value]! > 0))

const maskNotices = (masks: readonly Mask[]): readonly string[] => {
  const classes = classesIn(masks)
  const ignored = masks.some(({ counts }) => counts[ignoredLabel]! > 0) ? ` (${ignoredLabel} does not count)` : ''
  return classes.length === 1
    ? [`all pixels of the ${masks.length} training masks that count are of class ${classes[0]}${ignored}: nothing can be told apart`]
    : []
}

/** In what the images of a validation are all alike, so that a measure says nothing of them. */
export const findAlike = (measure: BestBy, { examples, classes }: Dataset): string | undefined => {
  const labels = examples.flatMap(({ label }) => (isMask(label) ? [] : [label]))
  const rows = labels.map((label) => labelNumbers(label, classes))
  const isAlike = rows.length > 0 && rows[0]!.every((_, place) => rows.every((row) => row[place] === rows[0]![place]))
  if (measure === 'r2') return isAlike ? `${rows.length} validation images have the same values` : undefined
  if (measure !== 'auc' && measure !== 'kappa') return undefined
  if (isAlike) return `${rows.length} validation images are of ${typeof labels[0] === 'number' ? `class ${labels[0]}` : 'the same classes'}`
  const masks = listMasks({ examples })
  const [only, ...others] = classesIn(masks)
  return only === undefined || others.length > 0
    ? undefined
    : `pixels of the ${masks.length} validation masks that count are of class ${only}`
}

const labelNotices = (name: 'training' | 'validation', labels: readonly number[]): readonly string[] =>
  new Set(labels).size === 1
    ? [
        `all ${labels.length} ${name} images are of class ${labels[0]}: ${name === 'training' ? 'nothing can be told apart' : 'there is no AUC'}`
      ]
    : []

const listFirst = (names: readonly string[]): string => `${names.slice(0, 3).join(', ')}${names.length > 3 ? ', …' : ''}`

/** Folders of classes that no image is in: wrongly named, or still to be filled. */
const classNotices = (names: readonly string[], labels: readonly number[]): readonly string[] => {
  const there = new Set(labels)
  const absent = names.filter((_, label) => !there.has(label))
  // Of one class alone more is said.
  return absent.length === 0 || there.size === 1
    ? []
    : [`no training image is of ${absent.length} of the ${names.length} classes (${listFirst(absent)})`]
}

/** Weights that would change a mean, of images that are validated. */
const weightNotices = ({ examples }: Dataset): readonly string[] => {
  const { length } = examples.filter(({ weight = 1 }) => weight !== 1)
  return length === 0
    ? []
    : [
        `the weights of ${length} of ${examples.length} validation images are left out: they are of the loss that is trained, and a validation counts each image once`
      ]
}

const datasetNotices = (name: 'training' | 'validation', dataset: Dataset | undefined): readonly string[] => {
  if (dataset === undefined) return []
  const labels = imageLabels(dataset)
  return [
    ...(dataset.leftOut === undefined ? [] : [dataset.leftOut]),
    ...(name === 'validation' ? weightNotices(dataset) : []),
    ...(name === 'training' && labelKind(dataset) === 'mask' ? maskNotices(listMasks(dataset)) : []),
    ...(labels === undefined ? [] : labelNotices(name, labels)),
    ...(labels === undefined || name === 'validation' || dataset.names === undefined ? [] : classNotices(dataset.names, labels))
  ]
}

/** Where one of both names its classes, the other may number them otherwise. */
const namingNotices = ({ training, validation }: Split): readonly string[] => {
  if (validation === undefined || (training.names === undefined) === (validation.names === undefined)) return []
  const [named, numbered] = training.names === undefined ? ['--validation', '--data'] : ['--data', '--validation']
  const names = (training.names ?? validation.names!).map((name, index) => `${name} = ${index}`)
  return [
    `${numbered} numbers its classes, and ${named} names them: ${listFirst(names)}; where the numbers mean others, give --class-names in their order`
  ]
}

/**
 * Sentences on data that teach or measure less than they seem to, and on what was left out of them.
 */
export const dataNotices = (split: Split): readonly string[] => [
  // A share of the data that validates was read with them.
  ...new Set([...datasetNotices('training', split.training), ...datasetNotices('validation', split.validation), ...namingNotices(split)])
]
