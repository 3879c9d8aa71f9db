import { stringify } from 'csv-stringify/sync'
import type { Outcome } from '../failure'
import { writeFileAtomic } from '../files/atomic-write'
import { sigmoid, softmax } from './softmax'

/** What is predicted of an image: scores of classes and which these say, or values. */
export interface PredictedScores {
  readonly path: string
  /** Scores of a model that scores images: one a class, before softmax or sigmoid. */
  readonly scores?: readonly number[]
  /** The index of the highest score, of classes that exclude each other. */
  readonly class?: number
  /** Each class whose probability is over 1/2, of a model trained by a binary loss. */
  readonly classes?: readonly number[]
  /** The predicted values, of a model trained by a loss of values. */
  readonly values?: readonly number[]
}

/** Row by row: of many images with many classes all are more than a string holds. */
const writeCsv = <A>(
  path: string,
  header: readonly string[],
  images: readonly A[],
  toRow: (image: A) => readonly string[]
): Outcome<void> =>
  writeFileAtomic(path, function* () {
    yield Buffer.from(stringify([[...header]]))
    for (const image of images) yield Buffer.from(stringify([[...toRow(image)]]))
  })

type WriteTable = (path: string, names: readonly string[], images: readonly PredictedScores[]) => Outcome<void>

const columns = (names: readonly string[]): readonly string[] => names.map((name) => `probability of ${name}`)

/**
 * Writes a CSV with a row for each image, whole or not at all, by what its scores are: `path,class`
 * and the probability of each class; `path,labels` with all classes over 1/2, separated by
 * semicolons, and the same; or `path,value`, of several a column `value:NAME` each. The latter two
 * are columns of data files.
 */
export const tableWriters: Readonly<Record<'softmax' | 'sigmoid' | 'value', WriteTable>> = {
  softmax: (path, names, images) =>
    writeCsv(path, ['path', 'class', ...columns(names)], images, (image) => [
      image.path,
      names[image.class!]!,
      ...softmax(image.scores!).map(String)
    ]),
  sigmoid: (path, names, images) =>
    writeCsv(path, ['path', 'labels', ...columns(names)], images, (image) => [
      image.path,
      image.classes!.map((one) => names[one]!).join(';'),
      ...image.scores!.map((one) => `${sigmoid(one)}`)
    ]),
  value: (path, names, images) =>
    writeCsv(path, ['path', ...(names.length === 1 ? ['value'] : names.map((name) => `value:${name}`))], images, (image) => [
      image.path,
      ...image.values!.map(String)
    ])
}
