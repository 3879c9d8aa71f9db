import * as E from 'fp-ts/Either'
import { formatBytes, formatMilliseconds } from '../../src/text/format'
import { type Row, nanosecondsPerPixel } from './benchmark'
import { tilingPaper } from './paper-figures'
import { table } from './table'

/** The bytes of an arena in words; null is the whole card. */
export const arenaText = (arenaBytes: number | null): string => (arenaBytes === null ? 'whole card' : formatBytes(arenaBytes))

const stepTable = (rows: readonly Row[]): string =>
  table(
    ['precision', 'arena', 'input', 'contender', 'median step', 'a pixel', 'of PyTorch', 'peak memory', 'why not'],
    rows.map(({ precision, arenaBytes, size, contender, timing, ...cell }) => [
      ...[precision, arenaText(arenaBytes), `1x3x${size}x${size}`, contender],
      ...(E.isRight(timing)
        ? [
            formatMilliseconds(timing.right.medianMs),
            `${nanosecondsPerPixel({ ...cell, size, arenaBytes }, timing.right).toFixed(2)} ns`,
            timing.right.ofPytorch?.toFixed(2) ?? '-',
            timing.right.peakBytes === null ? '-' : formatBytes(timing.right.peakBytes),
            ''
          ]
        : ['-', '-', '-', '-', timing.left.message])
    ])
  )

const sizesText = (sizes: readonly number[], choose: (...sizes: number[]) => number): string =>
  sizes.length === 0 ? '-' : `${choose(...sizes)}²`

const failureTable = (rows: readonly Row[]): string => {
  const keys = [...new Set(rows.map(({ precision, arenaBytes, contender }) => JSON.stringify([precision, arenaBytes, contender])))]
  return table(
    ['precision', 'arena', 'contender', 'largest input that ran', 'smallest that failed'],
    keys.map((key) => {
      const [precision, arenaBytes, contender] = JSON.parse(key) as readonly [string, number | null, string]
      const own = rows.filter((row) => row.precision === precision && row.arenaBytes === arenaBytes && row.contender === contender)
      const ran = own.filter(({ timing }) => E.isRight(timing))
      const failed = own.filter(({ timing }) => E.isLeft(timing) && timing.left.isUntried !== true)
      const [ranSizes, failedSizes] = [ran, failed].map((some) => some.map(({ size }) => size)) as [number[], number[]]
      return [precision, arenaText(arenaBytes), contender, sizesText(ranSizes, Math.max), sizesText(failedSizes, Math.min)]
    })
  )
}

/** Steps, and the sizes at which each contender fails. */
export const benchmarkTables = (rows: readonly Row[]): string => [stepTable(rows), failureTable(rows), tilingPaper].join('\n\n')
