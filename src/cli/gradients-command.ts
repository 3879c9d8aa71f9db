import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { gradients } from '../commands/gradients'
import type { GradientsOptions } from '../option-tables/command-options'
import { formatBytes } from '../text/format'
import { type CommandResult, type Words, withInterrupt, sayNotice, sayPlanNotes, resolveMeasure, planningProgress } from './command-result'

/**
 * The command `gradients`: writes the gradients of a batch, and reports its loss and its peak
 * bytes.
 */
export const gradientsCommand = (options: GradientsOptions, words: Words): CommandResult =>
  withInterrupt((signal) =>
    pipe(
      gradients({
        ...options,
        measure: resolveMeasure(options),
        onPlan: sayPlanNotes,
        onNotice: sayNotice,
        ...planningProgress(words),
        signal
      }),
      TE.map((report) => ({
        json: report,
        text: `loss ${report.loss}, peak ${formatBytes(report.peakDeviceBytes)} measured, ${formatBytes(report.predictedPeakBytes)} predicted; gradients are in ${options.out}`
      }))
    )
  )
