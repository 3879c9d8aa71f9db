import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { type ProfileReport, profile } from '../commands/profile'
import type { NetworkReport } from '../commands/profile-network'
import type { ProfileOptions } from '../option-tables/command-options'
import { networkText } from '../plans/rank-report'
import { formatBytes, formatMilliseconds } from '../text/format'
import { table } from '../text/table'
import { type CommandResult, type Words, withInterrupt, planningProgress, sayNotice } from './command-result'
import { findRankRole } from './rank-role'

const kernelsText = ({ measured, kernels, isComplete, linkBytesPerSecond, path }: ProfileReport): string => {
  const rest = isComplete ? '' : ' (the time was up before the last: run it again for the rest)'
  const link = `the link moves ${(linkBytesPerSecond.toDevice / 1e9).toFixed(1)} GB/s`
  return `measured ${measured} kernels, ${kernels.length} in all${rest}; ${link}; ${path}`
}

const networkReportText = ({ ranks, machines, messages, path, ...rates }: NetworkReport): string => {
  const rows = messages.map(({ bytes, milliseconds }) => [formatBytes(bytes), formatMilliseconds(milliseconds)])
  return `${table(['message', 'time'], rows)}\n${networkText({ ...rates, measured: { ranks, machines } })}; ${path}`
}

const profileTheNetwork = (): CommandResult => {
  const { named, silence } = findRankRole()
  return pipe(
    profile({ network: true }),
    TE.bimap(named, (report) => ({ json: report, text: networkReportText(report), ...silence }))
  )
}

/**
 * The command `profile`: measures the kernels of a network's plans, or the network between ranks,
 * and says where what it found is kept.
 */
export const profileCommand = (options: ProfileOptions & { readonly network?: boolean }, words: Words): CommandResult =>
  options.network === true && options.model === undefined
    ? profileTheNetwork()
    : withInterrupt((signal) =>
        pipe(
          profile({
            ...options,
            ...planningProgress(words),
            onNotice: sayNotice,
            signal
          }),
          TE.map((report) => ({ json: report, text: kernelsText(report) }))
        )
      )
