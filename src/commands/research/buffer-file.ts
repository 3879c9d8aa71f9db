import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import type { Lifetime } from '../../../staging'
import { type Row, readCsvRows } from '../../files/csv'
import { type Failure, type Outcome, inputFailure } from '../../failure'
import { writeFileAtomic } from '../../files/atomic-write'

/** A row of a placement instance, as MiniMalloc writes them. */
export interface NamedBuffer extends Lifetime {
  readonly id: string
}

const columns = ['id', 'lower', 'upper', 'size'] as const
const header = columns.join(',')

const isWhole = (text: string): boolean => /^\d+$/.test(text) && Number.isSafeInteger(Number(text))

const bufferOf =
  (path: string, capacity: number) =>
  ({ record, info }: Row): E.Either<Failure, NamedBuffer> => {
    const wrong = (fault: string): E.Either<Failure, never> => E.left(inputFailure(`${path} line ${info.lines}: ${fault}`))
    const [id = '', ...texts] = record
    if (record.length !== columns.length || id === '') return wrong(`"${record.join(',')}" is not ${header}`)
    const fault = texts.findIndex((text) => !isWhole(text))
    if (fault !== -1) return wrong(`the ${columns[fault + 1]} "${texts[fault]}" is not a whole number from 0 to 2^53 - 1`)
    const [lower, upper, size] = texts.map(Number) as [number, number, number]
    if (lower >= upper) return wrong(`the lower end ${lower} of the lifetime is not below the upper end ${upper}`)
    if (size > capacity) return wrong(`the size ${size} is over the capacity of ${capacity}; raise --capacity or make the buffer smaller`)
    return E.right({ id, from: lower, to: upper, bytes: size })
  }

const checkTogether =
  (path: string) =>
  (buffers: readonly NamedBuffer[]): E.Either<Failure, readonly NamedBuffer[]> => {
    if (buffers.length === 0) return E.left(inputFailure(`${path} has no rows of ${header}: there is nothing to place`))
    const seen = new Set<string>()
    const twice = buffers.find(({ id }) => seen.size === seen.add(id).size)
    if (twice !== undefined) return E.left(inputFailure(`${path} has more than one buffer with the id ${twice.id}; give each its own`))
    return Number.isSafeInteger(buffers.reduce((sum, { bytes }) => sum + bytes, 0))
      ? E.right(buffers)
      : E.left(inputFailure(`${path}: the sizes add up to more than 2^53 bytes; give smaller ones`))
  }

/**
 * Buffers from a CSV of id,lower,upper,size rows: live in [lower, upper), sizes in bytes, at most
 * `capacity`. A first row with these names is a header.
 */
export const readBuffers = (path: string, capacity = Infinity): Outcome<readonly NamedBuffer[]> =>
  pipe(
    readCsvRows(path, 'buffer file', `a CSV of ${header} rows`),
    TE.map((rows) => (rows[0]?.record.join(',') === header ? rows.slice(1) : rows)),
    TE.chainEitherK(E.traverseArray(bufferOf(path, capacity))),
    TE.chainEitherK(checkTogether(path))
  )

const quoteCell = (text: string): string => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)

/** Writes the rows with a column `offset`, in bytes. */
export const writeBuffers = (path: string, buffers: readonly NamedBuffer[], offsets: readonly number[]): Outcome<void> => {
  const rows = buffers.map(({ id, from, to, bytes }, index) => [quoteCell(id), from, to, bytes, offsets[index]].join(','))
  return writeFileAtomic(path, () => [Buffer.from([`${header},offset`, ...rows, ''].join('\n'))])
}
