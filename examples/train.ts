/**
 * Trains VGG-16 to tell stained tissue from fundus photographs, on random crops of two real images, in a fifth of the memory
 * that plain training takes. `npm start` runs it.
 */
import { join } from 'node:path'
import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { vgg16 } from '../models'
import { type Dataset, type TrainOptions, type TrainReport, formatBytes, formatMilliseconds, planText, readDataset, train } from '../src'
import { exitStatus } from '../src/failure'
import { trainingProgress } from '../src/progress'
import { mean, table } from '../src/report'

const [batch, crop, steps] = [2, 512, 14]
const averaged = 6

const progress = trainingProgress()
const stop = new AbortController()

const options = (dataset: Dataset): TrainOptions => ({
  model: vgg16({ classes: dataset.classes, head: 'gap' }),
  input: [batch, 3, crop, crop],
  device: 'cpu',
  budget: { kind: 'ofPlain', fraction: 0.2 },
  optimizer: { kind: 'sgd', momentum: 0, weightDecay: 0 },
  learningRate: 0.02,
  schedule: { kind: 'constant' },
  steps,
  seed: 1,
  flip: true,
  dataset,
  onPlan: (planned) => console.log(planText(planned)),
  onStep: progress.onStep,
  signal: stop.signal
})

const losses = (values: readonly number[]): string => mean(values).toFixed(4)

const summary = ({ planned, peakDeviceBytes, predictedPeakBytes, stepMs, loss }: TrainReport): string => {
  const { plainPeakBytes, haloOverhead } = planned.staged.plan.predicted
  const ofPlain = (bytes: number): string => `${formatBytes(bytes)}, ${((100 * bytes) / plainPeakBytes).toFixed(1)}% of plain`
  return table(
    ['VGG-16', `${batch} crops of ${crop}x${crop} a step`],
    [
      ['budget', ofPlain(planned.arenaBytes)],
      ['peak, predicted', ofPlain(predictedPeakBytes)],
      ['peak, measured', ofPlain(peakDeviceBytes)],
      ["plain's peak", formatBytes(plainPeakBytes)],
      ['time of a step', formatMilliseconds(mean(stepMs))],
      ['halo overhead', `${(100 * haloOverhead).toFixed(1)}%`],
      ['loss, first step', losses(loss.slice(0, 1))],
      [`loss, first ${averaged} steps`, losses(loss.slice(0, averaged))],
      [`loss, last ${averaged} steps`, losses(loss.slice(-averaged))]
    ]
  )
}

const main = async (): Promise<void> => {
  process.once('SIGINT', () => stop.abort())
  const trained = await pipe(
    readDataset(join(__dirname, 'data')),
    TE.chain((dataset) => train(options(dataset)))
  )()
  progress.stop()
  if (E.isLeft(trained)) console.error(trained.left.message)
  else console.log(summary(trained.right))
  process.exitCode = E.isLeft(trained) ? exitStatus[trained.left.code] : 0
}

void main()
