/**
 * Trains VGG-16 to tell stained tissue from fundus photographs, on random crops of two real images,
 * in a fifth of the memory that plain training takes. `npm start` runs it.
 */
import { join } from 'node:path'
import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import {
  type PlanOptions,
  type PlanReport,
  type TrainOptions,
  type TrainReport,
  exitStatus,
  formatBytes,
  formatMilliseconds,
  plan,
  planText,
  train
} from '../src'
import { trainingProgress } from '../src/cli/progress'
import { mean } from './mean'
import { table } from '../src/text/table'

const [batch, crop, steps] = [2, 512, 14]
const averaged = 6

const progress = trainingProgress()
const stop = new AbortController()

const network: PlanOptions = { model: 'vgg16', classes: 2, input: [batch, 3, crop, crop], budget: '20%', momentum: 0 }

const options: TrainOptions = {
  ...network,
  data: join(__dirname, 'data', 'classes'),
  lr: 0.02,
  steps,
  seed: 1,
  flip: true,
  onPlan: (planned) => console.log(planText(planned)),
  onStep: progress.onStep,
  signal: stop.signal
}

const losses = (values: readonly number[]): string => mean(values).toFixed(4)

const summary = (planned: PlanReport, { peakDeviceBytes, stepMs, loss }: TrainReport): string => {
  const { plainPeakBytes, haloOverhead } = planned
  const ofPlain = (bytes: number): string => `${formatBytes(bytes)}, ${((100 * bytes) / plainPeakBytes).toFixed(1)}% of plain`
  return table(
    ['VGG-16', `${batch} crops of ${crop}x${crop} a step`],
    [
      ['budget', ofPlain(planned.budgetBytes ?? plainPeakBytes)],
      ['peak, predicted', ofPlain(planned.peakDeviceBytes)],
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
  const result = await pipe(
    TE.Do,
    TE.bind('planned', () => plan(network)),
    TE.bind('trained', () => train(options))
  )()
  progress.stop()
  if (E.isLeft(result)) console.error(result.left.message)
  else console.log(summary(result.right.planned, result.right.trained))
  process.exitCode = E.isLeft(result) ? exitStatus[result.left.code] : 0
}

void main()
