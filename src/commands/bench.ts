import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { bench } from '../bench'
import { breakdownText } from '../breakdown'
import { planText } from '../report'
import { formatBytes, formatMilliseconds } from '../sizes'
import { type CommandResult, interruptible, sayChange } from './command-result'
import { type OptimizerOptions, type SetupOptions, objectiveOf, setupOf } from './options'

export interface BenchCommandOptions extends SetupOptions, OptimizerOptions {
  readonly steps: number
  readonly breakdown?: boolean
}

export const benchCommand = (name: string, options: BenchCommandOptions): CommandResult =>
  pipe(
    TE.Do,
    TE.bind('objective', () => TE.fromEither(objectiveOf(options))),
    TE.bind('setup', () => TE.fromEither(setupOf(name, options))),
    TE.chain(({ objective, setup }) =>
      interruptible((signal) =>
        pipe(
          bench({
            ...setup,
            ...objective,
            steps: options.steps,
            seed: options.seed,
            breakdown: options.breakdown === true,
            onPlan: (planned) => {
              sayChange(planned)
              process.stderr.write(`${planText(planned)}\n`)
            },
            onStep: ({ step, milliseconds }) =>
              void process.stderr.write(`step ${step + 1}/${options.steps}  ${formatMilliseconds(milliseconds)}\n`),
            signal
          }),
          TE.map((report) => {
            const fastest = Math.min(...report.stepMs)
            const summary = `fastest of ${options.steps} steps ${formatMilliseconds(fastest)} (predicted ${formatMilliseconds(report.predictedStepMs)}), peak ${formatBytes(report.peakDeviceBytes)} measured, ${formatBytes(report.predictedPeakBytes)} predicted`
            return {
              json: report,
              text: report.breakdown === undefined ? summary : `${breakdownText(report.breakdown, fastest)}\n${summary}`
            }
          })
        )
      )
    )
  )
