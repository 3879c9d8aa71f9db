import * as E from 'fp-ts/Either'
import { formatBytes } from '../../src/text/format'
import type { Batch } from './batches'
import { windowPaper } from './paper-figures'
import { makeRows, table } from './table'

interface Line {
  readonly name: string
  /** Whose best rate the line's are shares of. */
  readonly by: string
  /** Images a second by batch; null where it did not run. */
  readonly rates: ReadonlyMap<number, number | null>
}

const paperLines: readonly Line[] = windowPaper.rows.map(({ name, by, rates }) => ({
  name,
  by,
  rates: new Map(windowPaper.batches.map((batch, index) => [batch, rates[index]!]))
}))

const measuredLines = (rows: readonly Batch[]): readonly Line[] => {
  const lines = new Map<string, { readonly by: string; readonly rates: Map<number, number | null> }>()
  rows.forEach(({ precision, contender, isPytorch, batch, measured }) => {
    const name = `${contender}, ${precision}`
    const line = lines.get(name) ?? { by: `${precision} ${isPytorch}`, rates: new Map<number, number | null>() }
    lines.set(name, line)
    if (E.isRight(measured) || measured.left.outOfMemory) line.rates.set(batch, E.isRight(measured) ? measured.right.imagesPerSecond : null)
  })
  return [...lines].map(([name, line]) => ({ name, ...line }))
}

/**
 * The rates beside Table 1 of Hayakawa 2020: each with its share of the best that the same system
 * reaches.
 */
const rateTable = (rows: readonly Batch[]): string => {
  const lines = [...paperLines, ...measuredLines(rows)]
  const batches = [...new Set([...windowPaper.batches, ...rows.map(({ batch }) => batch)])].sort((a, b) => a - b)
  const best = (by: string): number =>
    Math.max(...lines.filter((line) => line.by === by).flatMap(({ rates }) => [...rates.values()].map(Number)))
  return table(
    ['images a second (of the best)', ...batches.map(String)],
    lines.map(({ name, by, rates }) => [
      name,
      ...batches.map((batch) => {
        const rate = rates.get(batch)
        return rate === undefined ? '' : rate === null ? 'x' : `${rate.toFixed(0)} (${(rate / best(by)).toFixed(2)})`
      })
    ])
  )
}

const detailTable = (rows: readonly Batch[]): string =>
  table(
    ['precision', 'contender', 'arena', 'input', 'images a second', 'peak memory', 'on the host', 'why not'],
    rows.map(({ precision, contender, batch, size, arenaBytes, measured }) => [
      ...[precision, contender, formatBytes(arenaBytes), `${batch}x3x${size}x${size}`],
      ...makeRows([measured], 3, ({ imagesPerSecond, peakBytes, peakHostBytes }) => [
        imagesPerSecond.toFixed(1),
        ...[peakBytes, peakHostBytes].map((bytes) => (bytes === null ? '-' : formatBytes(bytes)))
      ])[0]!
    ])
  )

/** Images a second by batch, and what each batch took, as tables in Markdown. */
export const batchTables = (rows: readonly Batch[]): string =>
  [rateTable(rows), 'x: it does not fit; empty: not measured.', detailTable(rows)].join('\n\n')
