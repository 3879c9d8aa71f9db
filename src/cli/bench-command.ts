import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { breakdownText } from '../running/breakdown'
import { least } from '../numbers/extremes'
import { bench } from '../commands/bench'
import type { BenchOptions } from '../option-tables/command-options'
import { planText } from '../plans/plan-report'
import { formatBytes, formatMilliseconds } from '../text/format'
import { type CommandResult, withInterrupt, say, sayPlanNotes, sayKernel } from './command-result'

export const benchCommand = (options: BenchOptions): CommandResult =>
  withInterrupt((signal) =>
    pipe(
      bench({
        ...options,
        onPlan: (planned) => {
          sayPlanNotes(planned)
          say(process.stderr, planText(planned))
        },
        onStep: ({ step, steps, milliseconds }) =>
          void process.stderr.write(`step ${step + 1}/${steps}  ${formatMilliseconds(milliseconds)}\n`),
        onKernel: sayKernel,
        signal
      }),
      TE.map((report) => {
        const fastest = least(report.stepMs)
        const summary = `fastest of ${report.stepMs.length} steps ${formatMilliseconds(fastest)} (predicted ${formatMilliseconds(report.predictedStepMs)}), peak ${formatBytes(report.peakDeviceBytes)} measured, ${formatBytes(report.predictedPeakBytes)} predicted`
        return {
          json: report,
          text: report.breakdown === undefined ? summary : `${breakdownText(report.breakdown, fastest)}\n${summary}`
        }
      })
    )
  )
