import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import type { Image } from '../native'
import type { Optimizer } from '../staging'
import { type Dataset, checkLabels } from './dataset'
import { type Failure, type Outcome, inputFailure, interrupted } from './failure'
import type { Extent2 } from './images'
import { pictureCache } from './picture-cache'
import { type Planned, type Setup, imageSource, planNetwork } from './planning'
import { cropCorner, type Draw, sampler } from './sampling'
import { checkWritable } from './whole-file'
import { type Schedule, learningRate } from './schedule'
import { type RunningNetwork, withNetwork } from './session'
import { type Snapshots, snapshots } from './snapshots'

export interface TrainOptions extends Setup {
  readonly dataset: Dataset
  readonly optimizer: Optimizer
  readonly steps: number
  readonly learningRate: number
  readonly schedule: Schedule
  readonly seed: number
  /** Random horizontal and vertical flips, beside the random crops. */
  readonly flip: boolean
  /** A safetensors file to start from; drawn from the seed where absent. */
  readonly weights?: string
  /** Where the weights go in the end. */
  readonly save?: string
  readonly onPlan?: (planned: Planned) => void
  readonly onStep?: (report: StepReport) => void
  /** Aborting stops after the current instruction. */
  readonly signal?: AbortSignal
}

export interface StepReport {
  /** From 0. */
  readonly step: number
  readonly steps: number
  readonly loss: number
  readonly milliseconds: number
  /** Highest changed byte of the arena after the first step, plus one. */
  readonly peakDeviceBytes: number
}

export interface TrainReport {
  readonly steps: number
  readonly loss: readonly number[]
  readonly stepMs: readonly number[]
  readonly peakDeviceBytes: number
  readonly predictedPeakBytes: number
  readonly planned: Planned
}

/** Classes that the loss tells apart, or a sentence where the model cannot be trained on labelled RGB images. */
const classesOf = ({ staged }: Planned): E.Either<Failure, number> => {
  const { nodes, input, model } = staged.graph
  const loss = nodes[nodes.length - 1]
  if (loss === undefined || loss.op !== 'softmaxCrossEntropy' || loss.input[2] * loss.input[3] !== 1)
    return E.left(
      inputFailure(`${model} does not end in scores of one class an image, which labelled images train; end it in [B, classes]`)
    )
  return input[1] === 3
    ? E.right(loss.input[1])
    : E.left(inputFailure(`images are read with 3 channels but the input of ${model} has ${input[1]}`))
}

type LoadBatch = (step: number) => Outcome<{ readonly images: readonly Image[]; readonly labels: readonly number[] }>

const batchLoader = ({ dataset, seed, flip }: TrainOptions, batch: number, crop: Extent2): LoadBatch => {
  const { examples } = dataset
  const draws = sampler({ seed, examples: examples.length, batch, flip })
  const picture = pictureCache(crop)
  const imageOf = (draw: Draw): Outcome<Image> =>
    pipe(
      picture(examples[draw.example]!.path),
      TE.map((image) => ({
        ...image,
        ...cropCorner(draw, image, crop),
        flipHorizontal: draw.flipHorizontal,
        flipVertical: draw.flipVertical,
        quarterTurns: 0
      }))
    )
  return (step) =>
    pipe(
      draws(step),
      TE.traverseSeqArray(imageOf),
      TE.map((images) => ({ images, labels: draws(step).map(({ example }) => examples[example]!.label) }))
    )
}

const notFinite = (loss: number, step: number, rate: number): Failure => ({
  code: 'loss',
  message:
    step === 0
      ? `the loss is ${loss} at step 1, before any update: start from other weights`
      : `the loss is ${loss} at step ${step + 1}: it diverges at a learning rate of ${rate}; lower --lr, or start from other weights`
})

type Steps = Omit<TrainReport, 'planned' | 'predictedPeakBytes'>

/** All steps in turn; the next step's images are decoded while the current one runs. */
const runSteps = async (
  options: TrainOptions,
  network: RunningNetwork,
  loadBatch: LoadBatch,
  saved: Snapshots | undefined
): Promise<E.Either<Failure, Steps>> => {
  const { steps, seed, signal } = options
  const losses: number[] = []
  const stepMs: number[] = []
  let peakDeviceBytes = 0
  let next = loadBatch(0)()
  for (let step = 0; step < steps; step += 1) {
    const batch = await next
    if (E.isLeft(batch)) return batch
    if (signal?.aborted) return E.left(interrupted(step, steps))
    network.exchange.view('target').set(batch.right.labels)
    const rate = learningRate(options.schedule, options.learningRate, step, steps)
    const running = network.step({ learningRate: rate, step, seed }, batch.right.images)()
    if (step + 1 < steps) next = loadBatch(step + 1)()
    const milliseconds = await running
    if (E.isLeft(milliseconds)) return E.left(milliseconds.left.code === 'interrupted' ? interrupted(step, steps) : milliseconds.left)
    const loss = network.exchange.view('loss')[0]!
    if (!Number.isFinite(loss)) return E.left(notFinite(loss, step, rate))
    if (step === 0) peakDeviceBytes = network.measuredPeakBytes()
    losses.push(loss)
    stepMs.push(milliseconds.right)
    options.onStep?.({ step, steps, loss, milliseconds: milliseconds.right, peakDeviceBytes })
    const kept = await saved?.afterStep(step + 1)()
    if (kept !== undefined && E.isLeft(kept)) return kept
  }
  return E.right({ steps, loss: losses, stepMs, peakDeviceBytes: network.measuredPeakBytes() })
}

/** Where training was stopped, the weights of the last snapshot are written before the failure is passed on. */
const saveInterrupted =
  (path: string | undefined, saved: Snapshots | undefined) =>
  (failure: Failure): Outcome<Steps> => {
    const step = saved?.lastStep() ?? 0
    if (failure.code !== 'interrupted' || saved === undefined || path === undefined || step === 0) return TE.left(failure)
    return pipe(
      saved.write(path),
      TE.chain(() => TE.left({ ...failure, message: `${failure.message}; ${path} holds the weights after step ${step}` }))
    )
  }

const trainOn =
  (options: TrainOptions, planned: Planned) =>
  (network: RunningNetwork): Outcome<TrainReport> => {
    const [batch, , height, width] = planned.staged.program.input
    const loadBatch = batchLoader(options, batch, { height, width })
    const saved = options.save === undefined ? undefined : snapshots(network, planned.staged.program.save)
    const stop = () => network.interrupt()
    options.signal?.addEventListener('abort', stop)
    return pipe(
      () => runSteps(options, network, loadBatch, saved).finally(() => options.signal?.removeEventListener('abort', stop)),
      TE.orElse(saveInterrupted(options.save, saved)),
      TE.chainFirst(({ steps }) =>
        saved === undefined || options.save === undefined ? TE.right(undefined) : saved.finish(steps, options.save)
      ),
      TE.map((report) => ({ ...report, predictedPeakBytes: planned.staged.plan.predicted.peakDeviceBytes, planned }))
    )
  }

/**
 * Plans and trains: mean softmax cross-entropy over random crops of the dataset's images. The same options and seed give the
 * same bits on the same machine.
 */
export const train = (options: TrainOptions): Outcome<TrainReport> =>
  pipe(
    options.save === undefined ? TE.right(undefined) : checkWritable(options.save),
    TE.chainEitherK(() => planNetwork(options, { kind: 'train', optimizer: options.optimizer }, imageSource)),
    TE.chainFirstEitherK((planned) =>
      pipe(
        classesOf(planned),
        E.chain((classes) => checkLabels(classes)(options.dataset))
      )
    ),
    TE.chainFirstIOK((planned) => () => options.onPlan?.(planned)),
    TE.chain((planned) => withNetwork({ planned, weights: options.weights, seed: options.seed }, trainOn(options, planned)))
  )
