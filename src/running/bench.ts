import { constants } from 'node:buffer'
import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import type { Image } from '../../native'
import { type KernelTime, breakdownOf } from './breakdown'
import type { Exchange } from './step-io'
import { type Failure, type Outcome, interrupted } from '../failure'
import { pixelLossOf, setPixelWeights, weightOfPixels } from '../model/pixel-loss'
import { type Planned, imageSource, planNetwork } from '../plans/plan-network'
import type { RunnableSetup } from '../plans/setup'
import { type Watching, measureFirst } from '../plans/measure'
import { stream } from '../numbers/random'
import { type RunningNetwork, stoppable, withNetwork } from './running-network'
import { mappedZeros } from '../images/mapped-image-file'
import { type ObjectiveOptions, trainingObjective } from '../training/objective'

export interface BenchOptions extends RunnableSetup, ObjectiveOptions, Watching {
  readonly steps: number
  readonly seed: number
  /** Whether to measure where the time of the fastest step went. */
  readonly breakdown?: boolean
  readonly onPlan?: (planned: Planned) => void
  readonly onStep?: (report: { readonly step: number; readonly milliseconds: number }) => void
}

export interface BenchReport {
  readonly strategy: string
  readonly stepMs: readonly number[]
  readonly predictedStepMs: number
  readonly peakDeviceBytes: number
  readonly predictedPeakBytes: number
  readonly peakHostBytes: number
  readonly predictedPeakHostBytes: number
  /** Of the fastest step, where asked for. */
  readonly breakdown?: readonly KernelTime[]
}

const corner = { cropTop: 0, cropLeft: 0, flipHorizontal: false, flipVertical: false, quarterTurns: 0 } as const

/** Noise of the input's size, a block of it again and again: a GPU, which clocks by its power, may be faster on zeros. Zeros on disk where no buffer holds it. */
const syntheticImage = ([, channels, height, width]: readonly [number, number, number, number], seed: number): Outcome<Image> => {
  const bytes = height * width * channels
  const { uniform } = stream(seed, 'bench')
  const pixels: Outcome<Image['pixels']> =
    bytes <= constants.MAX_LENGTH
      ? TE.fromIO(() =>
          Buffer.alloc(
            bytes,
            Uint8Array.from({ length: 65_537 }, (_, index) => Math.floor(256 * uniform(index)))
          )
        )
      : mappedZeros(bytes)
  return TE.map((filled: Image['pixels']): Image => ({ pixels: filled, height, width, channels, ...corner }))(pixels)
}

/** One update of the weights: its micro-steps one after the other; milliseconds of all. */
const updateOnce = (
  { seed, accumulate = 1 }: BenchOptions,
  step: number,
  network: RunningNetwork,
  images: readonly Image[]
): Outcome<number> => {
  const parameters = { learningRate: 0, seed }
  return pipe(
    Array.from({ length: accumulate }, (_, index) => step * accumulate + index),
    TE.traverseSeqArray((microStep) => network.step({ ...parameters, step: microStep }, images)),
    TE.bindTo('micro'),
    TE.bind('update', () => network.update({ ...parameters, step })),
    TE.map(({ micro, update }) => micro.reduce((sum, milliseconds) => sum + milliseconds, update))
  )
}

/** Labels of pixels, where there are any, go through the classes in turn. */
export const fillPixels = (planned: Pick<Planned, 'staged'>, exchange: Exchange, accumulate: number): void => {
  const pixels = pixelLossOf(planned)
  if (pixels === undefined) return
  const target = exchange.view('target')
  for (let index = 0; index < target.length; index += 1) target[index] = index % pixels.classes
  setPixelWeights(pixels, accumulate * weightOfPixels(pixels, target), exchange)
}

const runSteps = async (
  options: BenchOptions,
  planned: Planned,
  network: RunningNetwork,
  image: Image
): Promise<E.Either<Failure, BenchReport>> => {
  const { program, plan } = planned.staged
  fillPixels(planned, network.exchange, options.accumulate ?? 1)
  const images = Array.from({ length: program.input[0] }, () => image)
  const stepMs: number[] = []
  let before = network.kernelMilliseconds()
  let [fastest, ofFastest] = [Infinity, [] as readonly number[]]
  for (let step = 0; step < options.steps; step += 1) {
    const milliseconds = await stoppable(options.signal, network, updateOnce(options, step, network, images))()
    if (E.isLeft(milliseconds))
      return E.left(milliseconds.left.code === 'interrupted' ? interrupted(step, options.steps) : milliseconds.left)
    stepMs.push(milliseconds.right)
    const now = network.kernelMilliseconds()
    if (milliseconds.right <= fastest) [fastest, ofFastest] = [milliseconds.right, now.map((total, kernel) => total - before[kernel]!)]
    before = now
    options.onStep?.({ step, milliseconds: milliseconds.right })
  }
  return E.right({
    strategy: plan.strategy,
    stepMs,
    predictedStepMs: plan.predicted.stepMilliseconds,
    peakDeviceBytes: network.measuredPeakBytes(),
    predictedPeakBytes: plan.predicted.peakDeviceBytes,
    peakHostBytes: network.measuredHostPeakBytes(),
    predictedPeakHostBytes: plan.predicted.peakHostBytes,
    ...(options.breakdown === true ? { breakdown: breakdownOf(planned, ofFastest, options.accumulate ?? 1) } : {})
  })
}

/** Real training steps (with a learning rate of zero) on noise; images are of class 0, their pixels of all classes in turn. A step is an update of the weights. */
export const bench = (options: BenchOptions): Outcome<BenchReport> =>
  pipe(
    TE.Do,
    TE.chainFirst(() => measureFirst(options, trainingObjective(options), imageSource)),
    TE.bind('planned', () => TE.fromEither(planNetwork(options, trainingObjective(options), imageSource))),
    TE.chainFirstIOK(
      ({ planned }) =>
        () =>
          options.onPlan?.(planned)
    ),
    TE.bind('image', ({ planned }) => syntheticImage(planned.staged.program.input, options.seed)),
    TE.chain(({ planned, image }) =>
      withNetwork(
        { planned, device: options.device, seed: options.seed, timesKernels: options.breakdown === true },
        (network) => () => runSteps(options, planned, network, image)
      )
    )
  )
