import Table from 'cli-table3'
import { printable } from './printable'

/** A table of rows without rules between them. */
export const table = (head: readonly string[], rows: readonly (readonly string[])[]): string => {
  const made = new Table({ head: head.map(printable), style: { head: [], border: [], compact: true } })
  for (const row of rows) made.push(row.map(printable))
  return made.toString()
}
