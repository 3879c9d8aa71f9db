import { readFile } from 'node:fs/promises'
import { type Options, parse } from 'csv-parse/sync'
import * as TE from 'fp-ts/TaskEither'
import { type Outcome, inputFailure, errorReason } from '../failure'

/** A row of a CSV file, and the line, from 1, at which it ends. */
export interface Row {
  readonly record: readonly string[]
  readonly info: { readonly lines: number }
}

const options: Options = {
  bom: true,
  trim: true,
  relaxColumnCount: true,
  skipEmptyLines: true,
  recordDelimiter: ['\r\n', '\n'],
  info: true
}

/**
 * The rows of a CSV file with the lines where they end; `what` names the file in sentences,
 * `wanted` says what it should be.
 */
export const readCsvRows = (path: string, what: string, wanted: string): Outcome<readonly Row[]> =>
  TE.tryCatch(
    async () => {
      const text = await readFile(path, 'utf8')
      if (text.includes('\0')) throw new Error(`it is not text; give ${wanted}`)
      // csv-parse's types leave out what `info` changes.
      return parse(text, options) as unknown as readonly Row[]
    },
    (thrown) => inputFailure(`the ${what} ${path} cannot be read: ${errorReason(thrown)}`)
  )
