import { readdir, stat } from 'node:fs/promises'
import { basename, dirname, isAbsolute, join, relative, resolve } from 'node:path'
import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { type Outcome, inputFailure, errorReason } from '../failure'
import { type Row, readCsvRows } from '../files/csv'
import { folderFailure } from '../datasets/class-folders'
import { imageExtensions, isHidden, isImage } from '../datasets/image-names'
import { findImageFolder } from '../datasets/mask-folders'
import { wholeImages } from '../datasets/slide-parts'

/** An image that is to be predicted. */
export interface ListedImage {
  readonly path: string
  /** Its path below the folder of what named it, for results beside it; its own name elsewhere. */
  readonly name: string
}

const makeListedImage = (folder: string, path: string): ListedImage => {
  const name = relative(folder, path)
  return { path, name: name.startsWith('..') || isAbsolute(name) ? basename(path) : name }
}

const imagesOfFolder = async (folder: string): Promise<readonly string[]> => {
  const byFolder = new Map<string, string[]>()
  for (const name of await readdir(folder, { recursive: true })) {
    if (!isImage(name) || name.split(/[\\/]/).some(isHidden)) continue
    const beside = byFolder.get(dirname(name))
    if (beside === undefined) byFolder.set(dirname(name), [basename(name)])
    else beside.push(basename(name))
  }
  const found: string[] = []
  for (const [below, names] of byFolder)
    for (const name of await wholeImages(join(folder, below), names.sort())) found.push(join(below, name))
  return found.sort().map((name) => join(folder, name))
}

const pathsOfCsv = (csv: string, rows: readonly Row[]): E.Either<string, readonly string[]> => {
  const [first] = rows
  const found = first?.record.indexOf('path') ?? -1
  const column = Math.max(found, 0)
  const images = found === -1 ? rows : rows.slice(1)
  const empty = images.find(({ record }) => (record[column] ?? '') === '')
  return empty === undefined
    ? E.right(images.map(({ record }) => resolve(dirname(csv), record[column]!)))
    : E.left(`${csv} line ${empty.info.lines}: has no path of an image`)
}

/**
 * The images of a folder and those below it, by name, of one of images and masks the images; or of
 * a CSV file, its column `path`, or the first one where no row says so. Paths in it are relative to
 * it. Fails where there are none.
 */
export const listImages = (path: string): Outcome<readonly ListedImage[]> =>
  pipe(
    TE.tryCatch(
      async () => (await stat(path)).isDirectory(),
      (thrown) => inputFailure(`${path}: cannot be read (${errorReason(thrown)}); give a folder of images, or a CSV file of their paths`)
    ),
    TE.chain((isFolder) =>
      isFolder
        ? pipe(
            TE.tryCatch(async () => imagesOfFolder((await findImageFolder(path)) ?? path), folderFailure(path)),
            TE.map((images) => images.map((image) => makeListedImage(path, image)))
          )
        : pipe(
            readCsvRows(path, 'list of images', 'a CSV file with a column path'),
            TE.chainEitherK((rows) => E.mapLeft(inputFailure)(pathsOfCsv(path, rows))),
            TE.map((images) => images.map((image) => makeListedImage(dirname(path), image)))
          )
    ),
    TE.filterOrElse(
      (images) => images.length > 0,
      () => inputFailure(`${path}: has no images; give a folder of ${imageExtensions.join(', ')} files, or a CSV file of paths`)
    )
  )
