import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { type OffloadReport, offload } from '../commands/research/offload'
import type { OffloadOptions } from '../option-tables/research-options'
import { table } from '../text/table'
import { formatBytes, formatMilliseconds, percent } from '../text/format'
import type { CommandResult } from './command-result'

const reportText = (report: OffloadReport): string => {
  const time = (milliseconds: number | null): string => (milliseconds === null ? '' : formatMilliseconds(milliseconds))
  const rows = report.stages.map(({ name, forwardMs, offloadMs, prefetchMs, backwardMs }) => [
    name,
    ...[forwardMs, offloadMs, prefetchMs, backwardMs].map(time)
  ])
  const figures = [
    ['memory', `${formatBytes(report.memoryBytes)}, ${percent(report.memoryBytes / report.peakBytes)} of ${formatBytes(report.peakBytes)}`],
    ['offloaded', formatBytes(report.offloadedBytes)],
    ['time of a step', `${formatMilliseconds(report.makespanMs)}, of which ${formatMilliseconds(report.computeMs)} are computation`],
    ['lower bound', formatMilliseconds(report.lowerBoundMs)],
    ['relative makespan', report.relativeMakespan.toFixed(3)]
  ]
  return [
    table(['stage', 'forward at', 'its input goes at', 'and returns at', 'backward at'], rows),
    table([`strategy ${report.strategy}`, ''], figures)
  ].join('\n')
}

/** The command `research offload`: which stages of a chain wait on the host, and its report. */
export const offloadCommand = (options: OffloadOptions): CommandResult =>
  pipe(
    offload(options),
    TE.map((report) => ({ json: report, text: reportText(report) }))
  )
