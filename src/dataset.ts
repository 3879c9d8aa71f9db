import { access, readdir, stat } from 'node:fs/promises'
import { dirname, extname, join, resolve } from 'node:path'
import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { type Row, readCsvRows } from './csv'
import { type Failure, type Outcome, inputFailure, reasonOf } from './failure'
import { type Extent2, imageExtensions, readExtent } from './images'
import { type Mask, ignoredLabel, inspectMask, largestClass } from './masks'

/** One image file and the index of its class, or the mask of its pixels' classes. */
export interface Example {
  readonly path: string
  readonly label: number | Mask
  /** Where it was said, for sentences: `data.csv line 3`, or a folder. */
  readonly origin: string
}

/** Of labels alone, or of masks alone. */
export interface Dataset {
  readonly examples: readonly Example[]
  /** Number of classes: the folders, or the largest label (255 of masks left out) plus one. */
  readonly classes: number
  /** Of the folders, by class. */
  readonly names?: readonly string[]
}

/** Labels are int32 on the device. */
const largestLabel = 2 ** 31 - 1

const exampleOf =
  (csv: string) =>
  ({ record, info }: Row): E.Either<Failure, Example> => {
    const origin = `${csv} line ${info.lines}`
    const [path = '', label = ''] = record
    if (record.length !== 2 || path === '') return E.left(inputFailure(`${origin}: "${record.join(',')}" is not path,label`))
    if (!/^\d+$/.test(label)) return E.left(inputFailure(`${origin}: the label "${label}" is not an integer from 0 upwards`))
    if (Number(label) > largestLabel) return E.left(inputFailure(`${origin}: the label ${label} is over the largest, ${largestLabel}`))
    return E.right({ path: resolve(dirname(csv), path), label: Number(label), origin })
  }

const foundAt =
  (origin: string) =>
  ({ code, message }: Failure): Failure => ({ code, message: `${origin}: ${message}` })

const sizeText = ({ height, width }: Extent2): string => `${height}x${width}`

/** Masks are opened at once, to see that they fit their images and what they hold. */
const maskedExampleOf =
  (csv: string) =>
  ({ record, info }: Row): Outcome<Example> => {
    const origin = `${csv} line ${info.lines}`
    const [path = '', mask = ''] = record.map((name) => resolve(dirname(csv), name))
    if (record.length !== 2 || record.includes('')) return TE.left(inputFailure(`${origin}: "${record.join(',')}" is not path,mask`))
    return pipe(
      checkExists({ path, origin }),
      TE.chain(() => readExtent(path)),
      TE.bindTo('image'),
      TE.bind('label', () => TE.mapLeft(foundAt(origin))(inspectMask(mask))),
      TE.filterOrElse(
        ({ image, label }) => sizeText(image) === sizeText(label),
        ({ image, label }) =>
          inputFailure(`${origin}: the mask ${mask} is ${sizeText(label)} but its image is ${sizeText(image)}: give each image its own`)
      ),
      TE.map(({ label }) => ({ path, label, origin }))
    )
  }

/** The largest label, or class in a mask. */
const largestLabelOf = ({ label }: Example): number => (typeof label === 'number' ? label : largestClass(label))

/** Rows name masks where the header says so, or the first one a PNG. */
const examplesOf = (csv: string, rows: readonly Row[]): Outcome<readonly Example[]> => {
  const [first, ...others] = rows
  const head = first?.record.join(',')
  const isHeader = head === 'path,label' || head === 'path,mask'
  const isMasked = head === 'path,mask' || (!isHeader && /\.png$/i.test(first?.record[1] ?? ''))
  const examples = isHeader ? others : rows
  return isMasked ? TE.traverseSeqArray(maskedExampleOf(csv))(examples) : TE.fromEither(E.traverseArray(exampleOf(csv))(examples))
}

const readCsv = (path: string): Outcome<Dataset> =>
  pipe(
    readCsvRows(path, 'data file', 'a CSV of path,label or path,mask rows or a folder with one folder of images a class'),
    TE.chain((rows) => examplesOf(path, rows)),
    TE.map((examples) => ({ examples, classes: examples.reduce((most, example) => Math.max(most, largestLabelOf(example) + 1), 0) }))
  )

const isFolder = (path: string): Promise<boolean> =>
  stat(path).then(
    (found) => found.isDirectory(),
    () => false
  )

const readFolder = (path: string): Outcome<Dataset> =>
  TE.tryCatch(
    async () => {
      const names = await readdir(path)
      // Links to folders count; what cannot be looked at does not.
      const areFolders = await Promise.all(names.map((name) => isFolder(join(path, name))))
      const folders = names.filter((_, index) => areFolders[index])
      const examplesOf = async (folder: string, label: number): Promise<readonly Example[]> => {
        const names = await readdir(join(path, folder))
        const images = names.filter((name) => imageExtensions.includes(extname(name).toLowerCase()))
        return images.sort().map((name) => ({ path: join(path, folder, name), label, origin: join(path, folder) }))
      }
      const examples = await Promise.all(folders.sort().map(examplesOf))
      return { examples: examples.flat(), classes: folders.length, names: folders }
    },
    (thrown) => inputFailure(`the folder ${path} cannot be read: ${reasonOf(thrown)}`)
  )

const checkExists = ({ path, origin }: Pick<Example, 'path' | 'origin'>): Outcome<void> =>
  TE.tryCatch(
    () => access(path),
    () => inputFailure(`${origin}: the image ${path} does not exist or may not be read`)
  )

/**
 * A CSV file of path,label or path,mask rows (paths relative to the file; a first row with these words is a header, and without one a
 * second column that ends in .png holds masks), or a folder with one folder of images a class (labels in the order of their names). Every
 * image must exist; masks are read, 8-bit PNG of their images' sizes whose values are classes, 255 ignored. `option` names it in sentences.
 */
export const readDataset = (path: string, option = '--data'): Outcome<Dataset> =>
  pipe(
    TE.tryCatch(
      () => stat(path),
      () => inputFailure(`${option} ${path} does not exist`)
    ),
    TE.chain((found) => (found.isDirectory() ? readFolder(path) : readCsv(path))),
    TE.filterOrElse(
      ({ examples }) => examples.length > 0,
      () =>
        inputFailure(
          `${option} ${path} names no images: it must be a CSV of path,label or path,mask rows or a folder with one folder of images a class`
        )
    ),
    TE.chainFirst(({ examples }) => TE.traverseSeqArray(checkExists)(examples))
  )

/** Labels of images; undefined where pixels have them. */
export const labelsOf = ({ examples }: Dataset): readonly number[] | undefined => {
  const labels = examples.flatMap(({ label }) => (typeof label === 'number' ? [label] : []))
  return labels.length === examples.length ? labels : undefined
}

/** The labels must fit the model's classes. */
export const checkLabels =
  (classes: number) =>
  (dataset: Dataset): E.Either<Failure, Dataset> => {
    const wrong = dataset.examples.find((example) => largestLabelOf(example) >= classes)
    if (wrong === undefined) return E.right(dataset)
    const range = `out of range: the model's classes are 0 to ${classes - 1}`
    return E.left(
      inputFailure(
        typeof wrong.label === 'number'
          ? `${wrong.origin}: the label ${wrong.label} is ${range}`
          : `${wrong.origin}: the mask ${wrong.label.path} holds the class ${largestClass(wrong.label)}, ${range}, and ${ignoredLabel} is ignored`
      )
    )
  }
