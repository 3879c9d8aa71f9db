import { access, readdir, stat } from 'node:fs/promises'
import { dirname, extname, join, resolve } from 'node:path'
import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { type Row, readCsvRows } from './csv'
import { type Failure, type Outcome, inputFailure, reasonOf } from './failure'
import { imageExtensions } from './images'

/** One image file and the index of its class. */
export interface Example {
  readonly path: string
  readonly label: number
  /** Where it was said, for sentences: `data.csv line 3`, or a folder. */
  readonly origin: string
}

export interface Dataset {
  readonly examples: readonly Example[]
  /** Number of classes: the folders, or the largest label plus one. */
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

const readCsv = (path: string): Outcome<Dataset> =>
  pipe(
    readCsvRows(path, 'data file', 'a CSV of path,label rows or a folder with one folder of images a class'),
    TE.map((rows) => (rows[0]?.record.join(',') === 'path,label' ? rows.slice(1) : rows)),
    TE.chainEitherK(E.traverseArray(exampleOf(path))),
    TE.map((examples) => ({ examples, classes: examples.reduce((most, { label }) => Math.max(most, label + 1), 0) }))
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

const checkExists = ({ path, origin }: Example): Outcome<void> =>
  TE.tryCatch(
    () => access(path),
    () => inputFailure(`${origin}: the image ${path} does not exist or may not be read`)
  )

/**
 * A CSV file of path,label rows (paths relative to the file; a first row `path,label` is a header), or a folder with one
 * folder of images a class (labels in the order of their names). Every image must exist; none is opened yet. `option` names
 * it in sentences.
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
        inputFailure(`${option} ${path} names no images: it must be a CSV of path,label rows or a folder with one folder of images a class`)
    ),
    TE.chainFirst(({ examples }) => TE.traverseSeqArray(checkExists)(examples))
  )

/** The labels must fit the model's classes. */
export const checkLabels =
  (classes: number) =>
  (dataset: Dataset): E.Either<Failure, Dataset> => {
    const wrong = dataset.examples.find(({ label }) => label >= classes)
    return wrong === undefined
      ? E.right(dataset)
      : E.left(inputFailure(`${wrong.origin}: the label ${wrong.label} is out of range: the model's classes are 0 to ${classes - 1}`))
  }
