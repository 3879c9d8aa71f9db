import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { gradients } from '../gradients'
import { formatBytes } from '../sizes'
import { type CommandResult, interruptible, sayChange } from './command-result'
import { type SetupOptions, setupWithoutInput } from './options'

export interface GradientsCommandOptions extends SetupOptions {
  readonly weights: string
  readonly batch: string
  readonly out: string
}

export const gradientsCommand = (name: string, options: GradientsCommandOptions): CommandResult =>
  pipe(
    TE.fromEither(setupWithoutInput(name, options)),
    TE.chain((setup) =>
      interruptible((signal) =>
        pipe(
          gradients({ ...setup, weights: options.weights, batch: options.batch, out: options.out, onPlan: sayChange, signal }),
          TE.map((report) => ({
            json: report,
            text: `loss ${report.loss}, peak ${formatBytes(report.peakDeviceBytes)} measured, ${formatBytes(report.predictedPeakBytes)} predicted; gradients are in ${options.out}`
          }))
        )
      )
    )
  )
