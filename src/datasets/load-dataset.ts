import { stat } from 'node:fs/promises'
import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { type Failure, type Outcome, collectFailures, inputFailure } from '../failure'
import { inParallel } from '../tasks/in-parallel'
import { classNamesIn, isAnnotationName, findBackgroundClass, readAnnotations } from './annotations/annotations'
import { type ClassFolders, readClassFolders } from './class-folders'
import { type AnnotationRules, type ClassList, makeClassList, classListText, findClass, ignoredLabel } from './class-list'
import type { DataRules } from './data-rules'
import { type Dataset, type Example, largestLabel } from './dataset'
import { type CsvExample, type DataFile, readDataFile, dataForms } from './dataset-csv'
import { type ImageHeader, readHeader } from '../images/image-header'
import { inspectAnnotations } from './annotations/inspect-annotations'
import type { Label } from './labels'
import { readMaskFolders } from './mask-folders'
import { type Mask, inspectMask } from './masks/masks'
import { extentText } from '../images/resolution'
import { type ReadRows, type UnreadRow, checkExists, prependOrigin, leaveOutUnread, recoverUnread, skipIfBad } from './unread-rows'

/** Masks are decoded, each in a thread of its own: more at once would only take more memory. */
const masksAtOnce = 4

type MaskedRow = CsvExample & { readonly label: { readonly maskPath: string } }

const isMasked = (row: CsvExample): row is MaskedRow => typeof row.label === 'object' && 'maskPath' in row.label

const each = <A, B>(
  values: readonly A[],
  run: (value: A) => Outcome<B>,
  signal: AbortSignal | undefined,
  lanes?: number
): Outcome<readonly B[]> =>
  pipe(
    inParallel(values, (value) => run(value)(), signal, lanes),
    TE.chainEitherK(collectFailures)
  )

/** The classes that annotations have: the class list's, or all names in them. */
const annotatedClasses = (
  annotated: readonly MaskedRow[],
  { classes, unannotated, skipBad }: DataRules,
  signal: AbortSignal | undefined
): Outcome<ClassList> => {
  if (classes !== undefined) return TE.right(classes)
  const readNames = ({ label, origin }: MaskedRow): Outcome<readonly string[]> =>
    pipe(readAnnotations(label.maskPath), TE.bimap(prependOrigin(origin), classNamesIn))
  // Of a row that is left out there are none.
  const read = (row: MaskedRow): Outcome<readonly string[]> =>
    skipBad === true
      ? TE.matchE(
          () => TE.right([]),
          () => readNames(row)
        )(checkExists('mask', row.label.maskPath, row.origin))
      : readNames(row)
  return TE.map((names: readonly (readonly string[])[]) =>
    makeClassList([...names.flat(), ...(unannotated === undefined ? [] : [unannotated])])
  )(each(annotated, read, signal, masksAtOnce))
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

/** What polygons hold is a person's to mend; a mask of pixels may be damaged. */
const readMask = (
  { origin, label: { maskPath } }: Pick<MaskedRow, 'origin' | 'label'>,
  header: ImageHeader,
  annotated: Annotated | undefined,
  skipBad: boolean | undefined
): TE.TaskEither<Failure | UnreadRow, Mask> => {
  const ofMask = skipIfBad(skipBad, 'mask', maskPath)
  const read: TE.TaskEither<Failure | UnreadRow, Mask> =
    annotated !== undefined && isAnnotationName(maskPath)
      ? pipe(
          skipBad === true ? ofMask(checkExists('mask', maskPath, origin)) : TE.right(undefined),
          TE.chainW(() => TE.mapLeft(prependOrigin(origin))(inspectAnnotations(maskPath, header, annotated.annotation)))
        )
      : ofMask(TE.mapLeft(prependOrigin(origin))(inspectMask(maskPath)))
  return TE.chainEitherKW(checkExtent(origin, header))(read)
}

/**
 * An image with its label. A mask is read at once, to see that it fits its image, at one of its
 * levels. Where what is bad is skipped, so is an image's header.
 */
const readRow =
  (annotated: Annotated | undefined, { skipBad }: Pick<DataRules, 'skipBad'>) =>
  (row: CsvExample): Outcome<Example | UnreadRow> => {
    const { path, origin, weight, tissue, label } = row
    const rest = { path, origin, ...(weight === undefined ? {} : { weight }), ...(tissue === undefined ? {} : { tissue }) }
    const ofImage = skipIfBad(skipBad, 'image', path)
    const header = ofImage(
      pipe(
        checkExists('image', path, origin),
        TE.chain(() => readHeader(path))
      )
    )
    if (typeof label === 'object' && 'maskPath' in label)
      return pipe(
        header,
        TE.chain((found) => readMask({ origin, label }, found, annotated, skipBad)),
        TE.map((mask): Example => ({ ...rest, label: mask })),
        recoverUnread
      )
    const there: TE.TaskEither<Failure | UnreadRow, unknown> = skipBad === true ? header : checkExists('image', path, origin)
    return pipe(
      there,
      TE.map((): Example => ({ ...rest, label })),
      recoverUnread
    )
  }

/** The examples that rows are, but for those that are left out. */
const readRows = (
  path: string,
  rows: readonly CsvExample[],
  annotated: Annotated | undefined,
  rules: DataRules,
  leftOut: string | undefined,
  signal: AbortSignal | undefined
): Outcome<ReadRows> =>
  pipe(
    each(rows, readRow(annotated, rules), signal, rows.some(isMasked) ? masksAtOnce : undefined),
    TE.chainEitherK((found) => leaveOutUnread(path, found, leftOut))
  )

/** The rows that count, and a sentence on those that do not. */
const rowsOfPart = (
  path: string,
  rows: readonly CsvExample[],
  { part }: DataRules
): Pick<Dataset, 'leftOut'> & { readonly rows: readonly CsvExample[] } => {
  const isWanted = (row: CsvExample): boolean => part === undefined || row.part === undefined || row.part === part
  const wanted = rows.filter(isWanted)
  const others = [...new Set(rows.flatMap((row) => (isWanted(row) ? [] : [row.part])))]
  const count = rows.length - wanted.length
  return others.length === 0 || part !== 'train'
    ? { rows: wanted }
    : { rows: wanted, leftOut: `${path}: left out ${count === 1 ? 'is 1 row' : `are ${count} rows`} whose split is ${others.join(' or ')}` }
}

/** Classes by their names, or else by the labels of all rows, those that are left out too. */
const countClasses = ({ names, rows }: DataFile, list: ClassList | undefined, examples: readonly Example[]): number => {
  const labels: readonly Label[] = [
    ...examples.map(({ label }) => label),
    ...rows.flatMap(({ label }) => (typeof label === 'object' && 'maskPath' in label ? [] : [label]))
  ]
  return list?.names.length ?? names?.length ?? labels.reduce<number>((most, label) => Math.max(most, largestLabel(label) + 1), 0)
}

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
    TE.bind('read', ({ annotated }) => readRows(path, rows, annotated, rules, leftOut, signal)),
    TE.map(({ annotated, read }): Dataset => {
      const names = annotated?.list.names ?? file.names ?? rules.classes?.names
      const classes = countClasses({ ...file, rows }, annotated?.list ?? rules.classes, read.examples)
      return { ...read, classes, source: path, ...(names === undefined ? {} : { names }) }
    })
  )

const readCsv = (path: string, rules: DataRules, signal: AbortSignal | undefined): Outcome<Dataset> =>
  pipe(
    readDataFile(path, rules),
    TE.chain((file) => makeDataset(path, file, rowsOfPart(path, file.rows, rules), rules, signal))
  )

/** The folders' images in the order of a class list, of which each folder must be one. */
const inClassList = (folders: ClassFolders, list: ClassList | undefined): E.Either<Failure, ClassFolders> => {
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
      if (unannotated !== undefined) return refuse('unannotated')
      return pipe(
        readClassFolders(path),
        TE.chainEitherK((folders) => inClassList(folders, classes)),
        TE.chain((folders) =>
          TE.map((read: ReadRows): Dataset => ({ ...folders, ...read }))(
            readRows(path, folders.examples, undefined, rules, folders.leftOut, signal)
          )
        )
      )
    })
  )
}

/** A number was probably meant as a share of the images. */
const hintOfShare = (option: string, path: string): string =>
  option === '--validation' && Number.isFinite(Number(path)) ? ', and a share of the images lies above 0 and below 1' : ''

/**
 * A CSV file (paths relative to it, columns by its header), or a folder with one folder of images a
 * class (labels in the order of their names, or of the class list), or with a folder of images and
 * one of masks. Every image must exist; masks are read: PNG, tiled TIFF, or polygons. Rows of which
 * a file cannot be read are left out where the rules skip what is bad. Aborting the signal stops.
 */
export const loadDataset = (path: string, rules: DataRules, signal?: AbortSignal): Outcome<Dataset> => {
  const { option } = rules
  return pipe(
    TE.tryCatch(
      () => stat(path),
      () => inputFailure(path === '' ? `${option}: the path is empty` : `${option} ${path} does not exist${hintOfShare(option, path)}`)
    ),
    TE.chain((found): Outcome<Dataset> => (found.isDirectory() ? readFolder(path, rules, signal) : readCsv(path, rules, signal))),
    TE.filterOrElse(
      ({ examples }) => examples.length > 0,
      ({ leftOut }) =>
        inputFailure(`${option} ${path} names no images: it must be ${dataForms}${leftOut === undefined ? '' : `; ${leftOut}`}`)
    )
  )
}
