import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { bench } from '../bench'
import { planText } from '../report'
import { formatBytes, formatMilliseconds } from '../sizes'
import { type CommandResult, interruptible, sayChange } from './command-result'
import { type OptimizerOptions, type SetupOptions, optimizerOf, setupOf } from './options'

export interface BenchCommandOptions extends SetupOptions, OptimizerOptions {
  readonly steps: number
}

export const benchCommand = (name: string, options: BenchCommandOptions): CommandResult =>
  pipe(
    TE.Do,
    TE.bind('optimizer', () => TE.fromEither(optimizerOf(options))),
    TE.bind('setup', () => TE.fromEither(setupOf(name, options))),
    TE.chain(({ optimizer, setup }) =>
      interruptible((signal) =>
        pipe(
          bench({
            ...setup,
            optimizer,
            steps: options.steps,
            seed: options.seed,
            onPlan: (planned) => {
              sayChange(planned)
              process.stderr.write(`${planText(planned)}\n`)
            },
            onStep: ({ step, milliseconds }) =>
              void process.stderr.write(`step ${step + 1}/${options.steps}  ${formatMilliseconds(milliseconds)}\n`),
            signal
          }),
          TE.map((report) => ({
            json: report,
            text: `fastest of ${options.steps} steps ${formatMilliseconds(Math.min(...report.stepMs))} (predicted ${formatMilliseconds(report.predictedStepMs)}), peak ${formatBytes(report.peakDeviceBytes)} measured, ${formatBytes(report.predictedPeakBytes)} predicted`
          }))
        )
      )
    )
  )
