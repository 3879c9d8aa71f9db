import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { type Dataset, readDataset } from '../dataset'
import type { Failure, Outcome } from '../failure'
import { defaultLearningRate } from '../optimizer'
import { trainingProgress } from '../progress'
import { planText } from '../report'
import type { Schedule } from '../schedule'
import { formatBytes, formatMilliseconds } from '../sizes'
import { type TrainReport, train } from '../train'
import type { ColourJitter } from '../training/augmentation'
import type { BestBy } from '../training/best'
import { checkOptions } from '../training/check-options'
import type { ClassWeights } from '../training/class-weights'
import { parseFraction } from '../training/validation-split'
import { type CommandResult, interruptible, sayChange } from './command-result'
import { type OptimizerOptions, type SetupOptions, objectiveOf, present, setupOf } from './options'

export interface TrainCommandOptions extends SetupOptions, OptimizerOptions {
  readonly data: string
  readonly steps?: number
  readonly epochs?: number
  readonly lr?: number
  readonly schedule: Schedule
  readonly warmup?: number
  readonly flip?: true
  readonly rotate?: true
  readonly colourJitter?: ColourJitter
  readonly classWeights?: ClassWeights
  /** A share of the data, or where other data are. */
  readonly validation?: string
  readonly validateEvery?: number
  readonly best?: string
  readonly bestBy?: BestBy
  readonly earlyStop?: number
  readonly metrics?: string
  readonly weights?: string
  readonly save?: string
  readonly state?: string
  readonly stateEvery?: number
  readonly resume?: true
}

const reportData = ({ steps, loss, stepMs, peakDeviceBytes, predictedPeakBytes, best, validations }: TrainReport): object => ({
  steps,
  loss,
  stepMs,
  peakDeviceBytes,
  predictedPeakBytes,
  ...(validations.length === 0 ? {} : { validations, best })
})

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

const qualityText = ({ loss, accuracy, auc }: { readonly loss: number; readonly accuracy: number; readonly auc: number | null }): string =>
  `loss ${loss.toFixed(4)}, accuracy ${accuracy.toFixed(3)}${auc === null ? '' : `, AUC ${auc.toFixed(3)}`}`

const validationOf = ({ validation }: TrainCommandOptions): Outcome<Dataset | number | undefined> => {
  const fraction = validation === undefined ? undefined : parseFraction(validation)
  if (validation === undefined || fraction !== undefined) return TE.right(fraction)
  return readDataset(validation, '--validation')
}

export const trainCommand = (name: string, options: TrainCommandOptions): CommandResult => {
  const say = (text: string): void => void (options.json ? process.stderr : process.stdout).write(`${text}\n`)
  const warn = (text: string): void => void process.stderr.write(`${text}\n`)
  return pipe(
    TE.Do,
    TE.bind('objective', () => TE.fromEither(objectiveOf(options))),
    TE.chainFirstEitherK((): E.Either<Failure, void> => checkOptions(options)),
    TE.bind('dataset', () => readDataset(options.data)),
    TE.bind('validation', () => validationOf(options)),
    TE.bind('setup', ({ dataset }) => TE.fromEither(setupOf(name, options, dataset.classes))),
    TE.chain(({ objective, dataset, validation, setup }) =>
      interruptible((signal) => {
        const progress = trainingProgress()
        const { lr, steps, epochs, schedule, warmup, seed, flip, rotate, colourJitter, classWeights } = options
        const { validateEvery, best, bestBy, earlyStop, metrics, weights, save, state, stateEvery, resume } = options
        const training = train({
          ...setup,
          ...objective,
          dataset,
          learningRate: lr ?? defaultLearningRate(objective.optimizer.kind),
          schedule,
          seed,
          flip: flip ?? false,
          ...present({ steps, epochs, warmup, rotate, colourJitter, classWeights, validation, validateEvery }),
          ...present({ best, bestBy, earlyStop, metrics, weights, save, state, stateEvery, resume }),
          onPlan: (planned) => {
            sayChange(planned)
            say(planText(planned))
          },
          onStep: progress.onStep,
          onValidation: (validation) => warn(`validation after step ${validation.step}: ${qualityText(validation)}`),
          onNotice: (sentence) => warn(`${sentence}.`),
          signal
        })
        return pipe(
          () => training().finally(progress.stop),
          TE.map((report) => ({ json: reportData(report), text: reportText(report) }))
        )
      })
    )
  )
}
