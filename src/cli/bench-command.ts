import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { breakdownText } from '../running/breakdown'
import { minimum } from '../numbers/extremes'
import { bench } from '../commands/bench'
import type { BenchOptions, BenchStep } from '../option-tables/command-options'
import { planText } from '../plans/plan-report'
import { formatBytes, formatMilliseconds } from '../text/format'
import {
  type CommandResult,
  type Words,
  withInterrupt,
  say,
  sayNotice,
  sayPlanNotes,
  resolveMeasure,
  planningProgress
} from './command-result'

const sayStep = ({ step, steps, milliseconds }: BenchStep): void =>
  void process.stderr.write(`step ${step + 1}/${steps}  ${formatMilliseconds(milliseconds)}\n`)

/** The command `bench`: its plan and steps on stderr while it runs, and its report. */
export const benchCommand = (options: BenchOptions, words: Words): CommandResult =>
  withInterrupt((signal) =>
    pipe(
      bench({
        ...options,
        onPlan: (planned) => {
          sayPlanNotes(planned)
          if (!words.quiet) say(process.stderr, planText(planned))
        },
        onNotice: sayNotice,
        ...(words.quiet ? {} : { onStep: sayStep }),
        measure: resolveMeasure(options),
        ...planningProgress(words),
        signal
      }),
      TE.map((report) => {
        const [fastest, steps] = [minimum(report.stepMs), report.stepMs.length]
        const summary = `${steps === 1 ? '1 step' : `fastest of ${steps} steps`} ${formatMilliseconds(fastest)} (predicted ${formatMilliseconds(report.predictedStepMs)}), peak ${formatBytes(report.peakDeviceBytes)} measured, ${formatBytes(report.predictedPeakBytes)} predicted`
        return {
          json: report,
          text: report.breakdown === undefined ? summary : `${breakdownText(report.breakdown, fastest)}\n${summary}`
        }
      })
    )
  )
