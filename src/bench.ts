import { constants } from 'node:buffer'
import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import type { Image } from '../native'
import type { Optimizer } from '../staging'
import { type Failure, type Outcome, inputFailure, interrupted } from './failure'
import { type Planned, type Setup, imageSource, planNetwork } from './planning'
import { stream } from './random'
import { type RunningNetwork, stoppable, withNetwork } from './session'

export interface BenchOptions extends Setup {
  readonly optimizer: Optimizer
  readonly steps: number
  readonly seed: number
  readonly onPlan?: (planned: Planned) => void
  readonly onStep?: (report: { readonly step: number; readonly milliseconds: number }) => void
  readonly signal?: AbortSignal
}

export interface BenchReport {
  readonly strategy: string
  readonly stepMs: readonly number[]
  readonly predictedStepMs: number
  readonly peakDeviceBytes: number
  readonly predictedPeakBytes: number
}

/** Noise of the input's size: a block of it again and again, since a step's time does not depend on what it sees. */
const syntheticImage = ([, channels, height, width]: readonly [number, number, number, number], seed: number): E.Either<Failure, Image> => {
  const bytes = height * width * channels
  if (bytes > constants.MAX_LENGTH)
    return E.left(
      inputFailure(
        `an input of ${height}x${width} takes ${bytes} bytes, over the ${constants.MAX_LENGTH} that this Node holds in one buffer`
      )
    )
  const { uniform } = stream(seed, 'bench')
  const block = Uint8Array.from({ length: 65_537 }, (_, index) => Math.floor(256 * uniform(index)))
  const corner = { cropTop: 0, cropLeft: 0, flipHorizontal: false, flipVertical: false, quarterTurns: 0 } as const
  return E.right({ pixels: Buffer.alloc(bytes, block), height, width, channels, ...corner })
}

const runSteps = async (
  options: BenchOptions,
  planned: Planned,
  network: RunningNetwork,
  image: Image
): Promise<E.Either<Failure, BenchReport>> => {
  const { program, plan } = planned.staged
  const images = Array.from({ length: program.input[0] }, () => image)
  const stepMs: number[] = []
  for (let step = 0; step < options.steps; step += 1) {
    const milliseconds = await stoppable(options.signal, network, network.step({ learningRate: 0, step, seed: options.seed }, images))()
    if (E.isLeft(milliseconds))
      return E.left(milliseconds.left.code === 'interrupted' ? interrupted(step, options.steps) : milliseconds.left)
    stepMs.push(milliseconds.right)
    options.onStep?.({ step, milliseconds: milliseconds.right })
  }
  return E.right({
    strategy: plan.strategy,
    stepMs,
    predictedStepMs: plan.predicted.stepMilliseconds,
    peakDeviceBytes: network.measuredPeakBytes(),
    predictedPeakBytes: plan.predicted.peakDeviceBytes
  })
}

/** Real training steps (with a learning rate of zero) on noise, all of label 0. */
export const bench = (options: BenchOptions): Outcome<BenchReport> =>
  pipe(
    TE.Do,
    TE.bind('planned', () => TE.fromEither(planNetwork(options, { kind: 'train', optimizer: options.optimizer }, imageSource))),
    TE.chainFirstIOK(
      ({ planned }) =>
        () =>
          options.onPlan?.(planned)
    ),
    TE.bind('image', ({ planned }) => TE.fromEither(syntheticImage(planned.staged.program.input, options.seed))),
    TE.chain(({ planned, image }) =>
      withNetwork({ planned, seed: options.seed }, (network) => () => runSteps(options, planned, network, image))
    )
  )
