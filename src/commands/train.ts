import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { type Dataset, readDataset } from '../dataset'
import { type Failure, inputFailure } from '../failure'
import { defaultLearningRate } from '../optimizer'
import type { Schedule } from '../schedule'
import { trainingProgress } from '../progress'
import { planText } from '../report'
import { formatBytes, formatMilliseconds } from '../sizes'
import { type TrainReport, train } from '../train'
import { type CommandResult, interruptible, sayChange } from './command-result'
import { type OptimizerOptions, type SetupOptions, optimizerOf, setupOf } from './options'

export interface TrainCommandOptions extends SetupOptions, OptimizerOptions {
  readonly data: string
  readonly steps?: number
  readonly epochs?: number
  readonly lr?: number
  readonly schedule: Schedule
  readonly flip?: true
  readonly weights?: string
  readonly save?: string
}

const stepsOf = ({ steps, epochs = 1 }: TrainCommandOptions, dataset: Dataset, batch: number): number =>
  steps ?? Math.ceil((epochs * dataset.examples.length) / batch)

const reportData = ({ steps, loss, stepMs, peakDeviceBytes, predictedPeakBytes }: TrainReport): object => ({
  steps,
  loss,
  stepMs,
  peakDeviceBytes,
  predictedPeakBytes
})

const reportText = ({ steps, loss, stepMs, peakDeviceBytes, predictedPeakBytes }: TrainReport): string => {
  const time = stepMs.reduce((sum, milliseconds) => sum + milliseconds, 0)
  const peak = `peak ${formatBytes(peakDeviceBytes)} measured, ${formatBytes(predictedPeakBytes)} predicted`
  return `${steps} steps in ${formatMilliseconds(time)}, loss ${loss[0]?.toFixed(4)} to ${loss.at(-1)?.toFixed(4)}, ${peak}`
}

export const trainCommand = (name: string, options: TrainCommandOptions): CommandResult => {
  const say = (text: string): void => void (options.json ? process.stderr : process.stdout).write(`${text}\n`)
  return pipe(
    TE.Do,
    TE.bind('optimizer', () => TE.fromEither(optimizerOf(options))),
    TE.chainFirstEitherK(() => checkLength(options)),
    TE.bind('dataset', () => readDataset(options.data)),
    TE.bind('setup', ({ dataset }) => TE.fromEither(setupOf(name, options, dataset.classes))),
    TE.chain(({ optimizer, dataset, setup }) =>
      interruptible((signal) => {
        const progress = trainingProgress()
        const { lr, schedule, seed, flip, weights, save } = options
        const training = train({
          ...setup,
          dataset,
          optimizer,
          steps: stepsOf(options, dataset, setup.input?.[0] ?? 1),
          learningRate: lr ?? defaultLearningRate(optimizer.kind),
          schedule,
          seed,
          flip: flip ?? false,
          ...(weights === undefined ? {} : { weights }),
          ...(save === undefined ? {} : { save }),
          onPlan: (planned) => {
            sayChange(planned)
            say(planText(planned))
          },
          onStep: progress.onStep,
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

const checkLength = ({ steps, epochs }: TrainCommandOptions): E.Either<Failure, void> =>
  steps !== undefined && epochs !== undefined
    ? E.left(inputFailure('--steps and --epochs both say how long to train: give one of them'))
    : E.right(undefined)
