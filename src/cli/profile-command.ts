import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { profile } from '../commands/profile'
import type { ProfileOptions } from '../option-tables/command-options'
import { type CommandResult, type Words, withInterrupt, planningProgress } from './command-result'

/**
 * The command `profile`: measures the kernels of a network's plans, and says where their times are
 * kept.
 */
export const profileCommand = (options: ProfileOptions, words: Words): CommandResult =>
  withInterrupt((signal) =>
    pipe(
      profile({
        ...options,
        ...planningProgress(words),
        signal
      }),
      TE.map((report) => ({
        json: report,
        text: `measured ${report.measured} kernels, ${report.kernels.length} in all${report.isComplete ? '' : ' (the time was up before the last: run it again for the rest)'}; the link moves ${(report.linkBytesPerSecond.toDevice / 1e9).toFixed(1)} GB/s; ${report.path}`
      }))
    )
  )
