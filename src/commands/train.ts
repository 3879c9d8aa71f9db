import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { type TrainOptions, type TrainReport, train } from '../library/train'
import { trainingProgress } from '../progress'
import { planText } from '../report'
import { formatBytes, formatMilliseconds } from '../sizes'
import type { Quality } from '../training/scores'
import { type CommandResult, interruptible, sayChange, sayKernel } from './command-result'
import type { CommandOptions } from './options'

const qualityText = ({ loss, accuracy, auc, iou }: Quality): string =>
  [
    `loss ${loss.toFixed(4)}, accuracy ${accuracy.toFixed(3)}`,
    ...(auc === undefined || auc === null ? [] : [`AUC ${auc.toFixed(3)}`]),
    ...(iou === undefined || iou === null ? [] : [`mean IoU ${iou.toFixed(3)}`])
  ].join(', ')

const reportText = ({ steps, loss, stepMs, best, peakDeviceBytes, predictedPeakBytes }: TrainReport): string => {
  const time = stepMs.reduce((sum, milliseconds) => sum + milliseconds, 0)
  const peak = `peak ${formatBytes(peakDeviceBytes)} measured, ${formatBytes(predictedPeakBytes)} predicted`
  const validated = best === undefined ? [] : [`best validation after step ${best.step} (${qualityText(best)})`]
  return [
    `${steps} steps in ${formatMilliseconds(time)}`,
    `loss ${loss[0]?.toFixed(4)} to ${loss.at(-1)?.toFixed(4)}`,
    ...validated,
    peak
  ].join(', ')
}

export const trainCommand = (options: TrainOptions & CommandOptions): CommandResult => {
  const say = (text: string): void => void (options.json ? process.stderr : process.stdout).write(`${text}\n`)
  const warn = (text: string): void => void process.stderr.write(`${text}\n`)
  return interruptible((signal) => {
    const progress = trainingProgress()
    const training = train({
      ...options,
      onPlan: (planned) => {
        sayChange(planned)
        say(planText(planned))
      },
      onStep: progress.onStep,
      onValidation: (validation) => warn(`validation after step ${validation.step}: ${qualityText(validation)}`),
      onNotice: (sentence) => warn(`${sentence}.`),
      onKernel: sayKernel,
      signal
    })
    return pipe(
      () => training().finally(progress.stop),
      TE.map((report) => ({ json: report, text: reportText(report) }))
    )
  })
}
