import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { type CompareRow, compare } from '../commands/compare'
import type { CompareOptions } from '../option-tables/command-options'
import { meshText } from '../plans/mesh'
import { table } from '../text/table'
import { formatBytes, formatMilliseconds } from '../text/format'
import { type CommandResult, type Words, resolveMeasure, planningProgress, sayNotice, withInterrupt } from './command-result'

const orNone = (value: number | null, text: (value: number) => string): string => (value === null ? '' : text(value))

const cells = ({ strategy, budgetBytes, feasible, ...row }: CompareRow): readonly string[] => [
  strategy,
  formatBytes(budgetBytes),
  feasible ? orNone(row.predictedStepMs, formatMilliseconds) : 'does not fit',
  // Of a device whose times round to nothing there is no share of the bound.
  row.predictedStepMs === null || !row.lowerBoundMs ? '' : (row.predictedStepMs / row.lowerBoundMs).toFixed(2),
  orNone(row.peakDeviceBytes, formatBytes),
  orNone(row.peakHostBytes, formatBytes),
  orNone(row.movedBytes, formatBytes),
  orNone(row.recomputedFlops, (flops) => `${(flops / 1e9).toFixed(1)} G`),
  ...(row.mesh === null ? [] : [meshText(row.mesh)])
]

const head = ['strategy', 'budget', 'step', 'of the bound', 'device peak', 'host peak', 'moved', 'recomputed']

/** What a table of rows has above it: how ranks share steps only where there are some. */
const headOf = (rows: readonly CompareRow[]): readonly string[] => (rows.every(({ mesh }) => mesh === null) ? head : [...head, 'ranks'])

/** The command `compare`: a table of strategies by budget. */
export const compareCommand = (options: CompareOptions, words: Words): CommandResult =>
  withInterrupt((signal) =>
    pipe(
      compare({ ...options, measure: resolveMeasure(options), ...planningProgress(words), onNotice: sayNotice, signal }),
      TE.map((report) => ({ json: report, text: table(headOf(report.rows), report.rows.map(cells)) }))
    )
  )
