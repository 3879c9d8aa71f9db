import * as E from 'fp-ts/Either'
import type { Refusal } from './refusal'

const cell = (text: string): string => text.replace(/\s+/g, ' ').replaceAll('|', '\\|')

/** A table in Markdown. */
export const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows].map((row) => `| ${row.map(cell).join(' | ')} |`).join('\n')

/** A row of words a figure, or as many dashes and why there is none. */
export const makeRows = <A>(
  rows: readonly E.Either<Refusal, A>[],
  columns: number,
  show: (found: A) => readonly string[]
): readonly (readonly string[])[] =>
  rows.map((row) => (E.isRight(row) ? [...show(row.right), ''] : [...Array.from({ length: columns }, () => '-'), row.left.message]))

/** A share as a percentage, with one decimal. */
export const percent = (share: number): string => `${(100 * share).toFixed(1)} %`
