import { constants } from 'node:buffer'
import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import type { Image, StepIo } from '../../native'
import { type Failure, type Outcome, interruptedFailure } from '../failure'
import { checkPaths, namedPaths } from '../files/paths'
import { placeUnflippedCrop } from '../images/crop-placement'
import { mapZeros } from '../images/mapped-image-file'
import { setNormaliser, weightOfTargets } from '../running/normaliser'
import { findPixelLoss } from '../running/pixel-loss'
import { randomStream } from '../numbers/random'
import { type BenchOptions, benchOptions } from '../option-tables/command-options'
import { libraryFunction } from '../options/decode-options'
import type { DecodedOptions } from '../options/option'
import { checkAddonToRun } from '../plans/check-addon'
import { type Planned, imageNetSource, planNetwork } from '../plans/plan-network'
import { prepareGraph } from '../plans/prepare-graph'
import { resolveSetup, requireLocalDevice } from '../plans/resolve-setup'
import { setupReads } from '../plans/setup-files'
import { pickWatching } from '../plans/watching'
import { runPage } from '../reports/run-page'
import { checkReports, writeReport, writeRunTrace } from '../reports/write-report'
import { type KernelTime, computeBreakdown } from '../running/breakdown'
import { isPaceDue, paceNotice } from '../running/pace-notice'
import { createRunRecorder } from '../running/run-recorder'
import { type RunningNetwork, withAbort, withNetwork } from '../running/running-network'
import { tap } from '../tasks/tap'
import { trainingObjective } from '../training/training-objective'

type Options = DecodedOptions<typeof benchOptions>

/** What `bench` measured of some steps beside what their plan predicts: milliseconds and bytes. */
export interface BenchReport {
  readonly strategy: string
  readonly stepMs: readonly number[]
  readonly predictedStepMs: number
  readonly peakDeviceBytes: number
  readonly predictedPeakBytes: number
  readonly peakHostBytes: number
  readonly predictedPeakHostBytes: number
  /** Times by kernel of the fastest step, where they are asked for. */
  readonly breakdown?: readonly KernelTime[]
}

/**
 * Noise of the input's size, a block of it again and again: a GPU, which clocks by its power, may
 * be faster on zeros. Zeros on disk where no buffer holds it.
 */
const syntheticImage = ([, channels, height, width]: readonly [number, number, number, number], seed: number): Outcome<Image> => {
  const bytes = height * width * channels
  const { uniform } = randomStream(seed, 'bench')
  const pixels: Outcome<Image['pixels']> =
    bytes <= constants.MAX_LENGTH
      ? TE.fromIO(() =>
          Buffer.alloc(
            bytes,
            Uint8Array.from({ length: 65_537 }, (_, index) => Math.floor(256 * uniform(index)))
          )
        )
      : mapZeros(bytes)
  return TE.map((drawn: Image['pixels']): Image => ({ pixels: drawn, height, width, channels, ...placeUnflippedCrop(0, 0) }))(pixels)
}

/**
 * Runs one update of the weights, its micro-steps one after the other, and returns the milliseconds
 * of all.
 */
const updateOnce = ({ seed, accumulate }: Options, step: number, network: RunningNetwork, images: readonly Image[]): Outcome<number> => {
  const parameters = { learningRate: 0, seed }
  return pipe(
    Array.from({ length: accumulate }, (_, index) => step * accumulate + index),
    TE.traverseSeqArray((microStep) => network.step({ ...parameters, step: microStep }, images, Promise.resolve(images))),
    TE.bindTo('micro'),
    TE.bind('update', () => network.update({ ...parameters, step })),
    TE.map(({ micro, update }) => micro.reduce((sum, milliseconds) => sum + milliseconds, update))
  )
}

/**
 * Labels of pixels, where there are any, go through the classes in turn; what a loss is divided by
 * follows from them.
 */
export const fillPixels = (planned: Pick<Planned, 'staged'>, io: StepIo, accumulate: number): void => {
  const pixels = findPixelLoss(planned)
  const target = io.view('target')
  for (let index = 0; pixels !== undefined && index < target.length; index += 1) target[index] = index % pixels.classes
  const loss = planned.staged.graph.nodes.at(-1)!
  const weight = weightOfTargets(loss, target)
  setNormaliser(loss, weight === undefined ? undefined : accumulate * weight, io)
}

const runSteps = async (
  options: Options,
  planned: Planned,
  network: RunningNetwork,
  image: Image
): Promise<E.Either<Failure, BenchReport>> => {
  const { program, strategy, predicted } = planned.staged
  fillPixels(planned, network.io, options.accumulate)
  const images = Array.from({ length: program.input[0] }, () => image)
  const stepMs: number[] = []
  let before = network.kernelMilliseconds()
  let [fastest, ofFastest] = [Infinity, [] as readonly number[]]
  for (let step = 0; step < options.steps; step += 1) {
    const milliseconds = await withAbort(options.signal, network, updateOnce(options, step, network, images))()
    if (E.isLeft(milliseconds))
      return E.left(milliseconds.left.code === 'interrupted' ? interruptedFailure(step, options.steps) : milliseconds.left)
    stepMs.push(milliseconds.right)
    const now = network.kernelMilliseconds()
    if (milliseconds.right <= fastest) [fastest, ofFastest] = [milliseconds.right, now.map((total, kernel) => total - before[kernel]!)]
    before = now
    options.onStep?.({ step, steps: options.steps, milliseconds: milliseconds.right })
    const notice = isPaceDue(step + 1, options.steps) ? paceNotice(planned, stepMs) : undefined
    if (notice !== undefined) options.onNotice?.(notice)
  }
  return E.right({
    strategy,
    stepMs,
    predictedStepMs: predicted.stepMilliseconds,
    peakDeviceBytes: network.measuredPeakBytes(),
    predictedPeakBytes: predicted.peakDeviceBytes,
    peakHostBytes: network.measuredHostPeakBytes(),
    predictedPeakHostBytes: predicted.peakHostBytes,
    ...(options.breakdown ? { breakdown: computeBreakdown(planned, ofFastest, options.accumulate) } : {})
  })
}

/**
 * Times real training steps, at a learning rate of zero, on noise (images of class 0, their pixels
 * of all classes in turn): milliseconds of each, which is an update of the weights, and the bytes
 * that were touched beside those that were predicted. Fails with code `input`, `budget` or
 * `interrupted` (by `signal`).
 */
export const bench: (options: BenchOptions) => Outcome<BenchReport> = libraryFunction('bench', benchOptions, (options) =>
  pipe(
    checkAddonToRun(options),
    TE.chain(() =>
      checkPaths({
        reads: setupReads(options),
        writes: [...namedPaths('--report', options.report), ...namedPaths('--trace', options.trace)]
      })
    ),
    TE.chain(() => checkReports(options)),
    TE.chainEitherK(() => trainingObjective(options)),
    TE.bindTo('objective'),
    TE.bind('setup', () => pipe(resolveSetup(options), TE.chainEitherK(requireLocalDevice))),
    TE.bind('built', ({ setup, objective }) => prepareGraph(setup, objective, imageNetSource, options)),
    TE.bind('planned', ({ built }) => TE.fromEither(planNetwork(built, pickWatching(options)))),
    tap(({ planned }) => options.onPlan?.(planned)),
    TE.bind('image', ({ planned }) => syntheticImage(planned.staged.program.input, options.seed)),
    TE.let('recorder', () => (options.trace === undefined ? undefined : createRunRecorder())),
    TE.bind('report', ({ setup, planned, image, recorder }) =>
      withNetwork(
        { planned, device: setup.device, seed: options.seed, timesKernels: options.breakdown, recorder },
        (network) => () => runSteps(options, planned, network, image)
      )
    ),
    TE.chainFirst(({ planned, report: { stepMs, peakDeviceBytes } }) => {
      const images = planned.staged.program.input[0] * options.accumulate
      const what = `${stepMs.length} ${stepMs.length === 1 ? 'step' : 'steps'} on noise`
      return writeReport(options.report, () => runPage(planned, what, { stepMs, peakDeviceBytes, images }))
    }),
    TE.chainFirst(({ planned, recorder }) => writeRunTrace(options.trace, planned, recorder?.runs() ?? [])),
    TE.map(({ report }) => report)
  )
)
