import { access, constants, stat } from 'node:fs/promises'
import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { type Failure, type Outcome, collectFailures, inputFailure } from '../failure'
import { inParallel } from '../tasks/in-parallel'
import { classNamesIn, isAnnotationName, findBackgroundClass, readAnnotations } from './annotations'
import { type ClassFolders, readClassFolders } from './class-folders'
import { type AnnotationRules, type ClassList, makeClassList, classListText, findClass, ignoredLabel } from './class-list'
import type { DataRules } from './data-rules'
import { type Dataset, type Example, largestLabel } from './dataset'
import { type CsvExample, type DataFile, readDataFile, dataForms } from './dataset-csv'
import { type ImageHeader, readHeader } from './image-header'
import { inspectAnnotations } from './inspect-annotations'
import { readMaskFolders } from './mask-folders'
import { type Mask, inspectMask } from './masks'
import { extentText } from './resolution'

const foundAt =
  (origin: string) =>
  ({ code, message }: Failure): Failure => ({ code, message: `${origin}: ${message}` })

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
      () =>
        inputFailure(
          `${origin}: the image ${path} does not exist or may not be read: mend the path (--root and --suffix complete it), or leave the row out`
        )
    ),
    TE.chainEitherK((found) =>
      found.isFile()
        ? E.right(undefined)
        : E.left(inputFailure(`${origin}: the image ${path} is no ordinary file: mend the path, or leave it out`))
    )
  )

/** Masks are decoded, each in a thread of its own: more at once would only take more memory. */
const masksAtOnce = 4

type MaskedRow = CsvExample & { readonly label: { readonly maskPath: string } }

const isMasked = (row: CsvExample): row is MaskedRow => typeof row.label === 'object' && 'maskPath' in row.label

const each = <A, B>(values: readonly A[], run: (value: A) => Outcome<B>, signal: AbortSignal | undefined): Outcome<readonly B[]> =>
  pipe(
    inParallel(values, (value) => run(value)(), signal, masksAtOnce),
    TE.chainEitherK(collectFailures)
  )

/** The classes that annotations have: the class list's, or all names in them. */
const annotatedClasses = (
  annotated: readonly MaskedRow[],
  { classes, unannotated }: DataRules,
  signal: AbortSignal | undefined
): Outcome<ClassList> => {
  if (classes !== undefined) return TE.right(classes)
  const read = ({ label, origin }: MaskedRow): Outcome<readonly string[]> =>
    pipe(readAnnotations(label.maskPath), TE.bimap(foundAt(origin), classNamesIn))
  return TE.map((names: readonly (readonly string[])[]) =>
    makeClassList([...names.flat(), ...(unannotated === undefined ? [] : [unannotated])])
  )(each(annotated, read, signal))
}

interface Annotated {
  readonly list: ClassList
  readonly annotation: AnnotationRules
}

/** How annotations become classes; undefined where all masks hold pixels. */
const rulesFor = (rows: readonly CsvExample[], rules: DataRules, signal: AbortSignal | undefined): Outcome<Annotated | undefined> => {
  const annotated = rows.filter(isMasked).filter(({ label }) => isAnnotationName(label.maskPath))
  if (annotated.length > 0)
    return pipe(
      annotatedClasses(annotated, rules, signal),
      TE.chainEitherK((list) =>
        E.map((outside: number) => ({ list, annotation: { aliases: list.aliases, outside } }))(findBackgroundClass(rules.unannotated, list))
      )
    )
  return rules.unannotated === undefined || rows.some(isMasked)
    ? TE.right(undefined)
    : TE.left(inputFailure(`--unannotated ${rules.unannotated} is for masks of polygons, which ${rules.option} has not: leave it out`))
}

/** A row without a mask, since its file cannot be read. */
interface UnreadMask {
  readonly maskPath: string
  readonly failure: Failure
}

const isUnread = (row: Mask | Example | UnreadMask): row is UnreadMask => 'failure' in row

const checkExtent =
  (origin: string, image: ImageHeader) =>
  (mask: Mask): E.Either<Failure, Mask> =>
    image.levels.some((level) => extentText(level) === extentText(mask))
      ? E.right(mask)
      : E.left(
          inputFailure(
            `${origin}: the mask ${mask.path} is ${extentText(mask)} but its image is ${extentText(image)}: give each image its own`
          )
        )

/** Masks are opened at once, to see that they fit their images, at one of their levels. */
const inspect = (
  { path, origin, label: { maskPath } }: Pick<MaskedRow, 'path' | 'origin' | 'label'>,
  annotated: Annotated | undefined,
  skipBad: boolean
): Outcome<Mask | UnreadMask> =>
  pipe(
    checkExists({ path, origin }),
    TE.chain(() => readHeader(path)),
    TE.chain((header) => {
      const isAnnotation = annotated !== undefined && isAnnotationName(maskPath)
      const inspected = isAnnotation ? inspectAnnotations(maskPath, header, annotated.annotation) : inspectMask(maskPath)
      return pipe(
        inspected,
        TE.mapLeft(foundAt(origin)),
        TE.matchE(
          (failure): Outcome<Mask | UnreadMask> =>
            skipBad && !isAnnotation && failure.code === 'input' ? TE.right({ maskPath, failure }) : TE.left(failure),
          (mask) => TE.fromEither(checkExtent(origin, header)(mask))
        )
      )
    })
  )

const exampleOf =
  (annotated: Annotated | undefined, skipBad = false) =>
  (row: CsvExample): Outcome<Example | UnreadMask> => {
    const { path, origin, weight, tissue } = row
    const rest = { path, origin, ...(weight === undefined ? {} : { weight }), ...(tissue === undefined ? {} : { tissue }) }
    const { label } = row
    if (typeof label !== 'object' || !('maskPath' in label)) return TE.right({ ...rest, label })
    return TE.map((mask: Mask | UnreadMask) => (isUnread(mask) ? mask : { ...rest, label: mask }))(
      inspect({ path, origin, label }, annotated, skipBad)
    )
  }

interface Inspected extends Pick<Dataset, 'leftOut' | 'skippedMasks'> {
  readonly examples: readonly Example[]
}

/** The rows whose masks can be read, and a sentence on the others; a failure where none can. */
const withoutUnread = (
  path: string,
  found: readonly (Example | UnreadMask)[],
  leftOut: string | undefined
): E.Either<Failure, Inspected> => {
  const [examples, unread] = [found.flatMap((row) => (isUnread(row) ? [] : [row])), found.filter(isUnread)]
  const failures = collectFailures(unread.map(({ failure }) => E.left(failure)))
  if (E.isRight(failures)) return E.right({ examples, ...(leftOut === undefined ? {} : { leftOut }) })
  if (examples.length === 0) return failures
  const rows = unread.length === 1 ? 'row whose mask' : 'rows whose masks'
  const sentence = `${path}: left out ${unread.length === 1 ? 'is' : 'are'} ${unread.length} ${rows} cannot be read (${failures.left.message})`
  return E.right({
    examples,
    leftOut: leftOut === undefined ? sentence : `${leftOut}; ${sentence}`,
    skippedMasks: unread.map(({ maskPath }) => maskPath)
  })
}

/** The rows that count, and a sentence on those that do not. */
const rowsOfPart = (
  path: string,
  rows: readonly CsvExample[],
  { part }: DataRules
): Pick<Dataset, 'leftOut'> & { readonly rows: readonly CsvExample[] } => {
  const isWanted = (row: CsvExample): boolean => part === undefined || row.part === undefined || row.part === part
  const wanted = rows.filter(isWanted)
  const others = [...new Set(rows.flatMap((row) => (isWanted(row) ? [] : [row.part])))]
  return others.length === 0 || part !== 'train'
    ? { rows: wanted }
    : { rows: wanted, leftOut: `${path}: left out are ${rows.length - wanted.length} rows whose split is ${others.join(' or ')}` }
}

const countClasses = ({ names }: DataFile, list: ClassList | undefined, examples: readonly Example[]): number =>
  list?.names.length ?? names?.length ?? examples.reduce((most, { label }) => Math.max(most, largestLabel(label) + 1), 0)

/** The examples of rows, their masks looked at. */
const makeDataset = (
  path: string,
  file: DataFile,
  { rows, leftOut }: ReturnType<typeof rowsOfPart>,
  rules: DataRules,
  signal: AbortSignal | undefined
): Outcome<Dataset> =>
  pipe(
    rulesFor(rows, rules, signal),
    TE.bindTo('annotated'),
    TE.bind('found', ({ annotated }) => each(rows, exampleOf(annotated, rules.skipBad), signal)),
    TE.bind('inspected', ({ found }) => TE.fromEither(withoutUnread(path, found, leftOut))),
    TE.map(({ annotated, inspected }): Dataset => {
      const names = annotated?.list.names ?? file.names ?? rules.classes?.names
      const classes = countClasses(file, annotated?.list ?? rules.classes, inspected.examples)
      return { ...inspected, classes, source: path, ...(names === undefined ? {} : { names }) }
    })
  )

const readCsv = (path: string, rules: DataRules, signal: AbortSignal | undefined): Outcome<Dataset> =>
  pipe(
    readDataFile(path, rules),
    TE.chain((file) => makeDataset(path, file, rowsOfPart(path, file.rows, rules), rules, signal))
  )

/** The folders' images in the order of a class list, of which each folder must be one. */
const inClassList = (folders: ClassFolders, list: ClassList | undefined): E.Either<Failure, Dataset> => {
  if (list === undefined) return E.right(folders)
  const values = folders.names.map((name) => findClass(list, name))
  const unknown = folders.names.find((_, index) => values[index] === undefined)
  if (unknown !== undefined)
    return E.left(
      inputFailure(
        `${folders.source}: the folder "${unknown}" is none of the classes ${classListText(list)}: add it to --class-names, or move it`
      )
    )
  return E.right({
    ...folders,
    names: list.names,
    classes: list.names.length,
    examples: folders.examples
      .map((example) => ({ ...example, label: values[example.label]! }))
      .filter(({ label }) => label !== ignoredLabel)
  })
}

const readFolder = (path: string, rules: DataRules, signal: AbortSignal | undefined): Outcome<Dataset> => {
  const { classes, option, root, suffix, unannotated } = rules
  const refused = (options: object): string | undefined => Object.entries(options).find(([, value]) => value !== undefined)?.[0]
  const refuse = (name: string): Outcome<never> =>
    TE.left(inputFailure(`--${name} is for rows of a CSV file, but ${option} ${path} is a folder: leave it out`))
  const name = refused({ root, suffix })
  if (name !== undefined) return refuse(name)
  return pipe(
    readMaskFolders(path),
    TE.chain((rows) => {
      if (rows !== undefined) return makeDataset(path, { rows }, { rows }, rules, signal)
      return unannotated === undefined
        ? TE.chainEitherK((folders: ClassFolders) => inClassList(folders, classes))(readClassFolders(path))
        : refuse('unannotated')
    })
  )
}

/**
 * A CSV file (paths relative to it, columns by its header), or a folder with one folder of images a
 * class (labels in the order of their names, or of the class list), or with a folder of images and
 * one of masks. Every image must exist; masks are read: PNG, tiled TIFF, or polygons. Aborting the
 * signal stops.
 */
export const loadDataset = (path: string, rules: DataRules = { option: '--data' }, signal?: AbortSignal): Outcome<Dataset> => {
  const { option } = rules
  return pipe(
    TE.tryCatch(
      () => stat(path),
      () => inputFailure(path === '' ? `${option}: the path is empty` : `${option} ${path} does not exist`)
    ),
    TE.chain((found): Outcome<Dataset> => (found.isDirectory() ? readFolder(path, rules, signal) : readCsv(path, rules, signal))),
    TE.filterOrElse(
      ({ examples }) => examples.length > 0,
      ({ leftOut }) =>
        inputFailure(`${option} ${path} names no images: it must be ${dataForms}${leftOut === undefined ? '' : `; ${leftOut}`}`)
    ),
    TE.chainFirst(({ examples }) =>
      pipe(
        inParallel(examples, (example) => checkExists(example)(), signal),
        TE.chainEitherK(collectFailures)
      )
    )
  )
}
