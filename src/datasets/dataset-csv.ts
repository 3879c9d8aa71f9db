import { dirname, extname, resolve } from 'node:path'
import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import { suggestion } from '../../staging/decoding/close-name'
import { type Row, readCsvRows } from '../files/csv'
import { type Failure, type Outcome, inputFailure } from '../failure'
import { maxClasses } from '../options/limits'
import { classListText, findClass, ignoredLabel } from './class-list'
import { type DataRules, type SplitPart, splitParts } from './data-rules'
import type { ClassSet, TargetValues } from './labels'

/** The largest number of a class. */
export const maxLabel = maxClasses - 1

/** A row of a data file: an image, and what is known of it. */
export interface CsvExample {
  readonly path: string
  readonly label: number | ClassSet | TargetValues | { readonly maskPath: string }
  readonly origin: string
  readonly weight?: number
  /** A mask of where its crops lie. */
  readonly tissue?: string
  readonly part?: SplitPart
}

/** The rows of a data file, once it is checked. */
export interface DataFile {
  readonly rows: readonly CsvExample[]
  /** Names of classes, or of values, where the file or the class list has them. */
  readonly names?: readonly string[]
}

/** The columns, by their places in a row. */
interface Columns {
  readonly header: readonly string[]
  readonly path: number
  readonly target: 'label' | 'labels' | 'mask' | 'classes' | 'values'
  readonly places: readonly number[]
  readonly split: number
  readonly weight: number
  readonly tissue: number
}

const knownColumns = ['path', 'label', 'labels', 'mask', 'split', 'weight', 'tissue', 'value', 'value:NAME', 'class:NAME'] as const
/** Endings of names of masks. */
export const maskExtensions: readonly string[] = ['.png', '.tif', '.tiff', '.geojson', '.json', '.xml']

const isClassColumn = (name: string): boolean => name.startsWith('class:')
const isValueColumn = (name: string): boolean => name === 'value' || name.startsWith('value:')
const isKnown = (name: string): boolean =>
  ['path', 'label', 'labels', 'mask', 'split', 'weight', 'tissue'].includes(name) || isClassColumn(name) || isValueColumn(name)

/** `path,label`, without a header: masks where the first row names one. */
const plainColumns = (first: Row | undefined): Columns => {
  const target = maskExtensions.includes(extname(first?.record[1] ?? '').toLowerCase()) ? 'mask' : 'label'
  return { header: ['path', target], path: 0, target, places: [1], split: -1, weight: -1, tissue: -1 }
}

const parseColumns = (origin: string, header: readonly string[]): E.Either<Failure, Columns> => {
  const fail = (fault: string): E.Either<Failure, never> => E.left(inputFailure(`${origin}: ${fault}`))
  const unknown = header.find((name) => !isKnown(name))
  if (unknown !== undefined)
    return fail(`no column is called "${unknown}": columns are ${knownColumns.join(', ')}${suggestion(unknown, knownColumns)}`)
  const twice = header.find((name, place) => header.indexOf(name) < place)
  if (twice !== undefined) return fail(`the column ${twice} stands there twice`)
  const placesOf = (is: (name: string) => boolean): readonly number[] => header.flatMap((name, place) => (is(name) ? [place] : []))
  const targets = (
    [
      ['label', placesOf((name) => name === 'label')],
      ['labels', placesOf((name) => name === 'labels')],
      ['mask', placesOf((name) => name === 'mask')],
      ['classes', placesOf(isClassColumn)],
      ['values', placesOf(isValueColumn)]
    ] as const
  ).filter(([, places]) => places.length > 0)
  const [found, other] = targets
  if (found === undefined) return fail('no column says what an image is: give label, labels, mask, value, or class:NAME for each class')
  if (other !== undefined)
    return fail(`the columns ${header[found[1][0]!]} and ${header[other[1][0]!]} both say what an image is: give one`)
  const [target, places] = found
  const weight = header.indexOf('weight')
  if (target === 'mask' && weight >= 0) return fail('rows with masks have no weight: leave the column out, or give --class-weights')
  return E.right({
    header,
    path: header.indexOf('path'),
    target,
    places,
    split: header.indexOf('split'),
    weight,
    tissue: header.indexOf('tissue')
  })
}

/** A class by its number; by its name where there is a list of them. */
const readClass = (origin: string, text: string, { classes }: DataRules): E.Either<Failure, number> => {
  const fail = (fault: string): E.Either<Failure, never> => E.left(inputFailure(`${origin}: the label ${fault}`))
  if (classes !== undefined) {
    const found = findClass(classes, text)
    if (found === undefined) return fail(`"${text}" is none of the classes ${classListText(classes)}: mend it, or add it to --class-names`)
    return found === ignoredLabel
      ? fail(`"${text}" is ignored by --class-names, which only pixels can be: leave the row out`)
      : E.right(found)
  }
  if (!/^\d+$/.test(text)) return fail(`"${text}" is not an integer from 0 upwards: give --class-names with the names of classes`)
  return Number(text) > maxLabel ? fail(`${text} is over the largest, ${maxLabel}`) : E.right(Number(text))
}

const readClassSet = (origin: string, text: string, rules: DataRules): E.Either<Failure, ClassSet> => {
  const parts = text
    .split(';')
    .map((part) => part.trim())
    .filter((part) => part !== '')
  return pipe(
    parts,
    E.traverseArray((part) => readClass(origin, part, rules)),
    E.map((classes) => ({ classes: [...new Set(classes)].sort((one, other) => one - other) }))
  )
}

const oneOrZero = (origin: string, column: string, text: string): E.Either<Failure, boolean> =>
  text === '1' || text === '0'
    ? E.right(text === '1')
    : E.left(inputFailure(`${origin}: "${text}" in the column ${column} is neither 1 nor 0`))

const readNumber = (origin: string, column: string, text: string): E.Either<Failure, number> =>
  text !== '' && Number.isFinite(Number(text))
    ? E.right(Number(text))
    : E.left(inputFailure(`${origin}: "${text}" in the column ${column} is no number`))

const nameAfterColon = (column: string): string => column.slice(column.indexOf(':') + 1)

/** The classes of columns `class:NAME`: by the class list, or in the order of the columns. */
const columnClasses = (csv: string, { header, places }: Columns, rules: DataRules): E.Either<Failure, readonly number[]> =>
  rules.classes === undefined
    ? E.right(places.map((_, index) => index))
    : E.traverseArray((place: number) => readClass(`${csv} line 1`, nameAfterColon(header[place]!), rules))(places)

const labelReader = (csv: string, columns: Columns, rules: DataRules) => {
  const { target, places, header } = columns
  return (origin: string, record: readonly string[]): E.Either<Failure, CsvExample['label']> => {
    const text = record[places[0]!]!
    switch (target) {
      case 'label':
        return readClass(origin, text, rules)
      case 'labels':
        return readClassSet(origin, text, rules)
      case 'mask':
        return E.right({ maskPath: resolve(rules.root ?? dirname(csv), text) })
      case 'values':
        return pipe(
          places,
          E.traverseArray((place) => readNumber(origin, header[place]!, record[place]!)),
          E.map((values) => ({ values }))
        )
      case 'classes':
        return pipe(
          E.Do,
          E.bind('classes', () => columnClasses(csv, columns, rules)),
          E.bind('are', () => E.traverseArray((place: number) => oneOrZero(origin, header[place]!, record[place]!))(places)),
          E.map(({ classes, are }) => ({ classes: classes.filter((_, index) => are[index]).sort((one, other) => one - other) }))
        )
    }
  }
}

const partNames: ReadonlyMap<string, SplitPart> = new Map([
  ['training', 'train'],
  ['val', 'validation'],
  ['valid', 'validation']
])

const readPart = (origin: string, text: string): E.Either<Failure, SplitPart> => {
  const found = splitParts.find((part) => part === text.toLowerCase()) ?? partNames.get(text.toLowerCase())
  return found === undefined ? E.left(inputFailure(`${origin}: the split "${text}" is none of ${splitParts.join(', ')}`)) : E.right(found)
}

const readWeight = (origin: string, text: string): E.Either<Failure, number> =>
  text !== '' && Number(text) >= 0 && Number.isFinite(Number(text))
    ? E.right(Number(text))
    : E.left(inputFailure(`${origin}: the weight "${text}" is not a number from 0 upwards`))

/** Absent columns have no value. */
const optionally = <A>(record: readonly string[], place: number, read: (text: string) => E.Either<Failure, A>) =>
  place < 0 ? E.right(undefined) : read(record[place]!)

const separatorHint = ([only = '', ...others]: readonly string[]): string =>
  others.length === 0 && /[;\t]/.test(only) ? ': separate columns by commas' : ''

/** Names of columns, of which none is `path`, are taken for an image and its label. */
const namesHint = ({ code, message }: Failure): Failure => ({
  code,
  message: `${message}; if these are names of columns, one of them must be path`
})

const exampleReader = (csv: string, columns: Columns, rules: DataRules) => {
  const readLabel = labelReader(csv, columns, rules)
  const { suffix = '' } = rules
  return ({ record, info }: Row): E.Either<Failure, CsvExample> => {
    const origin = `${csv} line ${info.lines}`
    const name = record[columns.path] ?? ''
    if (record.length !== columns.header.length || name === '' || (columns.target === 'mask' && record[columns.places[0]!] === ''))
      return E.left(inputFailure(`${origin}: "${record.join(',')}" is not ${columns.header.join(',')}${separatorHint(record)}`))
    return pipe(
      E.Do,
      E.bind('label', () => readLabel(origin, record)),
      E.bind('part', () => optionally(record, columns.split, (text) => readPart(origin, text))),
      E.bind('weight', () => optionally(record, columns.weight, (text) => readWeight(origin, text))),
      E.map(({ label, part, weight }) => ({
        path: resolve(rules.root ?? dirname(csv), name.endsWith(suffix) ? name : `${name}${suffix}`),
        label,
        origin,
        ...(record[columns.tissue] ? { tissue: resolve(rules.root ?? dirname(csv), record[columns.tissue]!) } : {}),
        ...(part === undefined ? {} : { part }),
        ...(weight === undefined ? {} : { weight })
      }))
    )
  }
}

/** Names that the columns have, where the class list has none. */
const listClassNames = ({ target, header, places }: Columns, { classes }: DataRules): readonly string[] | undefined => {
  if (target === 'values') return places.map((place) => nameAfterColon(header[place]!))
  if (classes !== undefined) return classes.names
  return target === 'classes' ? places.map((place) => nameAfterColon(header[place]!)) : undefined
}

const decodeRows = (csv: string, rows: readonly Row[], rules: DataRules): E.Either<Failure, DataFile> => {
  const [first, ...others] = rows
  const isHeader = first?.record.includes('path') ?? false
  return pipe(
    isHeader ? parseColumns(`${csv} line ${first!.info.lines}`, first!.record) : E.right(plainColumns(first)),
    E.bindTo('columns'),
    E.bind('examples', ({ columns }) => {
      const read = exampleReader(csv, columns, rules)
      return E.traverseArray((row: Row) => (isHeader || row !== first ? read(row) : E.mapLeft(namesHint)(read(row))))(
        isHeader ? others : rows
      )
    }),
    E.map(({ columns, examples }) => {
      const names = listClassNames(columns, rules)
      return { rows: examples, ...(names === undefined ? {} : { names }) }
    })
  )
}

/** The forms that data may have, for sentences. */
export const dataForms =
  'a CSV of path,label or path,mask rows, a folder with one folder of images a class, or one with the folders images and masks'

/**
 * Reads a CSV of images and what is known of them: a header names the columns, and two columns
 * without one are `path,label`, or `path,mask` where the first row names a mask.
 */
export const readDataFile =
  (csv: string, rules: DataRules): Outcome<DataFile> =>
  async () =>
    E.chain((rows: readonly Row[]) => decodeRows(csv, rows, rules))(await readCsvRows(csv, 'data file', dataForms)())
