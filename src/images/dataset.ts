import { access, constants, stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { readClassFolders } from './class-folders'
import { type Row, readCsvRows } from '../files/csv'
import { type Failure, type Outcome, collectFailures, inputFailure } from '../failure'
import { readHeader } from './image-header'
import { extentText } from './resolution'
import { inParallel } from '../tasks/in-parallel'
import { maxClasses } from '../options/limits'
import { type Mask, ignoredLabel, inspectMask, largestClass } from './masks'

/** An image file and its label: the index of its class, or the mask of its pixels' classes. */
export interface Example {
  readonly path: string
  readonly label: number | Mask
  /** The place that named the image, for sentences: `data.csv line 3`, or a folder. */
  readonly origin: string
}

/** Images with labels, or images with masks. */
export interface Dataset {
  readonly examples: readonly Example[]
  /** Number of classes: the folders, or the largest label (255 of masks left out) plus one. */
  readonly classes: number
  /** Names of the folders, by class. */
  readonly names?: readonly string[]
  /** The file or folder that it was read from. */
  readonly source?: string
  /** A sentence on images in the folder that are not read. */
  readonly leftOut?: string
}

export const maxLabel = maxClasses - 1

const exampleOf =
  (csv: string) =>
  ({ record, info }: Row): E.Either<Failure, Example> => {
    const origin = `${csv} line ${info.lines}`
    const [path = '', label = ''] = record
    if (record.length !== 2 || path === '') return E.left(inputFailure(`${origin}: "${record.join(',')}" is not path,label`))
    if (!/^\d+$/.test(label)) return E.left(inputFailure(`${origin}: the label "${label}" is not an integer from 0 upwards`))
    if (Number(label) > maxLabel) return E.left(inputFailure(`${origin}: the label ${label} is over the largest, ${maxLabel}`))
    return E.right({ path: resolve(dirname(csv), path), label: Number(label), origin })
  }

const foundAt =
  (origin: string) =>
  ({ code, message }: Failure): Failure => ({ code, message: `${origin}: ${message}` })

/**
 * Masks are opened at once, to see that they fit their images, at one of their levels, and what
 * they hold.
 */
const maskedExampleOf =
  (csv: string) =>
  ({ record, info }: Row): Outcome<Example> => {
    const origin = `${csv} line ${info.lines}`
    const [path = '', mask = ''] = record.map((name) => resolve(dirname(csv), name))
    if (record.length !== 2 || record.includes('')) return TE.left(inputFailure(`${origin}: "${record.join(',')}" is not path,mask`))
    return pipe(
      checkExists({ path, origin }),
      TE.chain(() => readHeader(path)),
      TE.bindTo('image'),
      TE.bind('label', () => TE.mapLeft(foundAt(origin))(inspectMask(mask))),
      TE.filterOrElse(
        ({ image, label }) => image.levels.some((level) => extentText(level) === extentText(label)),
        ({ image, label }) =>
          inputFailure(`${origin}: the mask ${mask} is ${extentText(label)} but its image is ${extentText(image)}: give each image its own`)
      ),
      TE.map(({ label }) => ({ path, label, origin }))
    )
  }

/** The largest label, or class in a mask. */
const largestLabelOf = ({ label }: Example): number => (typeof label === 'number' ? label : largestClass(label))

/** Masks are decoded, each in a thread of its own: more at once would only take more memory. */
const masksAtOnce = 4

/** Rows name masks where the header says so, or the first one a PNG or a TIFF. */
const examplesOf = (csv: string, rows: readonly Row[], signal: AbortSignal | undefined): Outcome<readonly Example[]> => {
  const [first, ...others] = rows
  const head = first?.record.join(',')
  const isHeader = head === 'path,label' || head === 'path,mask'
  const isMasked = head === 'path,mask' || (!isHeader && /\.(png|tiff?)$/i.test(first?.record[1] ?? ''))
  const examples = isHeader ? others : rows
  if (!isMasked) return TE.fromEither(E.traverseArray(exampleOf(csv))(examples))
  return pipe(
    inParallel(examples, (row) => maskedExampleOf(csv)(row)(), signal, masksAtOnce),
    TE.chainEitherK(collectFailures)
  )
}

const readCsv = (path: string, signal: AbortSignal | undefined): Outcome<Dataset> =>
  pipe(
    readCsvRows(path, 'data file', 'a CSV of path,label or path,mask rows or a folder with one folder of images a class'),
    TE.chain((rows) => examplesOf(path, rows, signal)),
    TE.map((examples) => ({
      examples,
      classes: examples.reduce((most, example) => Math.max(most, largestLabelOf(example) + 1), 0),
      source: path
    }))
  )

/**
 * Sees that an image exists and may be read. What is no file is not opened: a pipe would wait for
 * its other end.
 */
const checkExists = ({ path, origin }: Pick<Example, 'path' | 'origin'>): Outcome<void> =>
  pipe(
    TE.tryCatch(
      async () => {
        await access(path, constants.R_OK)
        return stat(path)
      },
      () => inputFailure(`${origin}: the image ${path} does not exist or may not be read`)
    ),
    TE.chainEitherK((found) =>
      found.isFile() ? E.right(undefined) : E.left(inputFailure(`${origin}: the image ${path} is no ordinary file`))
    )
  )

/**
 * A CSV file of path,label or path,mask rows (paths relative to the file; a first row with these
 * words is a header, and without one a second column that ends in .png holds masks), or a folder
 * with one folder of images a class (labels in the order of their names). Every image must exist;
 * masks are read, 8-bit PNG of their images' sizes whose values are classes, 255 ignored. `option`
 * names it in sentences; aborting the signal stops.
 */
export const loadDataset = (path: string, option = '--data', signal?: AbortSignal): Outcome<Dataset> =>
  pipe(
    TE.tryCatch(
      () => stat(path),
      () => inputFailure(path === '' ? `${option}: the path is empty` : `${option} ${path} does not exist`)
    ),
    TE.chain((found): Outcome<Dataset> => (found.isDirectory() ? readClassFolders(path) : readCsv(path, signal))),
    TE.filterOrElse(
      ({ examples }) => examples.length > 0,
      ({ leftOut }) =>
        inputFailure(
          `${option} ${path} names no images: it must be a CSV of path,label or path,mask rows or a folder with one folder of images a class${leftOut === undefined ? '' : `; ${leftOut}`}`
        )
    ),
    TE.chainFirst(({ examples }) =>
      pipe(
        inParallel(examples, (example) => checkExists(example)(), signal),
        TE.chainEitherK(collectFailures)
      )
    )
  )

/** Labels of images; undefined where pixels have them. */
export const imageLabels = ({ examples }: Dataset): readonly number[] | undefined => {
  const labels = examples.flatMap(({ label }) => (typeof label === 'number' ? [label] : []))
  return labels.length === examples.length ? labels : undefined
}

/** The labels must fit the model's classes. */
export const checkLabels =
  (classes: number) =>
  (dataset: Dataset): E.Either<Failure, Dataset> => {
    const none = dataset.examples.find(({ label }) => typeof label === 'number' && !(Number.isInteger(label) && label >= 0))
    if (none !== undefined) return E.left(inputFailure(`${none.origin}: the label ${String(none.label)} is not an integer from 0 upwards`))
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
