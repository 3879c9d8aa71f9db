import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { type ChainReport, chain } from '../commands/research/chain'
import type { ChainOptions } from '../option-tables/research-options'
import { printable } from '../text/printable'
import { table } from '../text/table'
import { formatBytes, formatMilliseconds } from '../text/format'
import type { CommandResult } from './command-result'

const reportText = ({ chain, ...report }: ChainReport, out: string | undefined): string => {
  const rows = chain.stages.map(({ name, u_F, u_B, x, y, ex_F, ex_B }) => [
    name,
    formatMilliseconds(u_F),
    formatMilliseconds(u_B),
    ...[x, y, ex_F, ex_B].map(formatBytes)
  ])
  return [
    table(['stage', 'forward', 'backward', 'its input', "input's gradient", 'beside, forward', 'beside, backward'], rows),
    `${printable(chain.name)}: ${chain.stages.length} stages, ${formatMilliseconds(report.computeMs)} of computation, ${(chain.beta / 1e9).toFixed(1)} GB/s between device and host.`,
    `It needs ${formatBytes(report.peakBytes)} without offloading, and at least ${formatBytes(report.leastBytes)}; parameters and optimizer state take ${formatBytes(report.residentBytes)} beside.`,
    ...(out === undefined ? [] : [`The chain is in ${printable(out)}.`])
  ].join('\n')
}

/**
 * The command `research chain`: a network as a chain of stages with their milliseconds and bytes.
 */
export const chainCommand = (options: ChainOptions): CommandResult =>
  pipe(
    chain(options),
    TE.map((report) => ({ json: report, text: reportText(report, options.out) }))
  )
