import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import type { Model } from '../../dsl'
import { type Objective, type Source, isTrainable } from '../../staging'
import { type Failure, type Outcome, inputFailure } from '../failure'
import { checkWritable } from '../files/atomic-write'
import { checkPaths, namedPaths } from '../files/paths'
import { checkWrittenKind, tensors } from '../files/written-kind'
import { type GradientsOptions, gradientsOptions } from '../option-tables/command-options'
import { libraryFunction } from '../options/decode-options'
import type { DecodedOptions } from '../options/option'
import { checkAddonToRun } from '../plans/check-addon'
import { type Planned, planNetwork } from '../plans/plan-network'
import { prepareGraph } from '../plans/prepare-graph'
import { resolveSetupWithoutInput, requireLocalDevice, withFormula } from '../plans/resolve-setup'
import type { RunnableSetup } from '../plans/setup'
import { setupReads } from '../plans/setup-files'
import { pickWatching } from '../plans/watching'
import { batchShape, fillBatch } from '../running/batch-file'
import { type RunningNetwork, withAbort, withNetwork } from '../running/running-network'
import { createStepIo } from '../../native'
import { noUpdate } from '../running/step-parameters'
import { tap } from '../tasks/tap'
import { type TensorData, type TensorFile, openTensorFile, writeTensors } from '../weights/safetensors'
import { withHubWeights } from '../weights/hub-weights'
import { floatTensor } from '../weights/weights'

/** The loss whose gradients were written, and the peak in bytes, measured and predicted. */
export interface GradientsReport {
  readonly loss: number
  readonly strategy: string
  readonly peakDeviceBytes: number
  readonly predictedPeakBytes: number
}

const objective: Objective = { kind: 'gradients' }
const source: Source = { kind: 'float' }

/**
 * The setup at the batch's own shape, with which an input that was asked for must agree, and a loss
 * that fits it.
 */
const setupFor = (
  options: DecodedOptions<typeof gradientsOptions>,
  setup: RunnableSetup,
  file: TensorFile
): E.Either<Failure, RunnableSetup> =>
  pipe(
    batchShape(file, 'input'),
    E.filterOrElse(
      (shape) => setup.input === undefined || setup.input.join() === shape.join(),
      (shape) => inputFailure(`${file.path}: input is ${shape.join('x')} but --input says ${setup.input?.join('x')}`)
    ),
    E.chain((input) => E.map((model: Model) => ({ ...setup, model, input }))(withFormula(options, setup.model, input)))
  )

/** The running statistics as a training step leaves them. */
const runningStatistics = (planned: Planned, network: RunningNetwork): Outcome<readonly TensorData[]> => {
  const running = network.parameters.filter((parameter) => !isTrainable(parameter))
  if (running.length === 0) return TE.right([])
  const io = createStepIo(planned.staged.program.save)
  return pipe(
    network.save(io),
    TE.map(() => running.map(({ name, shape }) => floatTensor(`after.${name}`, shape, io.view(name))))
  )
}

const writeGradients = (path: string, planned: Planned, network: RunningNetwork): Outcome<number> => {
  const { stepIo } = planned.staged.program.step
  const loss = network.io.view('loss')[0]!
  const gradients = stepIo
    .filter(({ name }) => name.startsWith('grad.'))
    .map(({ name, shape }) => floatTensor(name, shape, network.io.view(name)))
  const lossData = planned.staged.program.precision === 'float64' ? Float64Array.of(loss) : Float32Array.of(loss)
  return pipe(
    Number.isFinite(loss)
      ? TE.right<Failure, number>(loss)
      : TE.left<Failure, number>({
          code: 'loss',
          message: `the loss is ${loss}; look at the weights and the batch for values that are not finite`
        }),
    TE.chainFirst(() =>
      pipe(
        runningStatistics(planned, network),
        TE.chain((statistics) => writeTensors(path, [floatTensor('loss', [], lossData), ...gradients, ...statistics]))
      )
    )
  )
}

/** Computes gradients, as `gradients` does, of a file of weights. */
const gradientsFromFile = (options: DecodedOptions<typeof gradientsOptions>): Outcome<GradientsReport> => {
  const { weights, batch, out, onPlan, onNotice, signal } = options
  return pipe(
    checkPaths({
      reads: [...setupReads(options), ...namedPaths('--weights', weights), ...namedPaths('--batch', batch)],
      writes: namedPaths('--out', out)
    }),
    TE.chain(() => resolveSetupWithoutInput(options)),
    TE.chainEitherK(requireLocalDevice),
    TE.bindTo('asked'),
    TE.chainFirst(() => checkWrittenKind({ name: '--out', path: out }, tensors)),
    TE.chainFirst(() => checkWritable(out)),
    TE.bind('file', () => openTensorFile(batch)),
    TE.bind('setup', ({ asked, file }) => TE.fromEither(setupFor(options, asked, file))),
    TE.bind('built', ({ setup }) => prepareGraph(setup, objective, source, options)),
    TE.bind('planned', ({ built }) => TE.fromEither(planNetwork(built, pickWatching(options)))),
    tap(({ planned }) => onPlan?.(planned)),
    TE.chain(({ file, setup: { device }, planned }) =>
      withNetwork({ planned, device, weights: { path: weights, onNotice }, seed: 0 }, (network) =>
        pipe(
          fillBatch(file, planned, network),
          TE.chain(() => withAbort(signal, network, network.step(noUpdate, []))),
          TE.chain(() => writeGradients(out, planned, network)),
          TE.map((loss) => ({
            loss,
            strategy: planned.staged.strategy,
            peakDeviceBytes: network.measuredPeakBytes(),
            predictedPeakBytes: planned.staged.predicted.peakDeviceBytes
          }))
        )
      )
    )
  )
}

/**
 * Runs one forward and backward of a batch from a file, without dropout and without an optimizer,
 * at the input [B, C, H, W] that the batch has. Writes a safetensors file with `loss` (the model's
 * own, or mean softmax cross-entropy), `grad.input`, `grad.<parameter>` for each parameter and
 * `after.<buffer>` for running statistics, in the device's precision (of bf16 in float32). Fails
 * with code `input`, `budget` or `loss` (not finite).
 */
export const gradients: (options: GradientsOptions) => Outcome<GradientsReport> = libraryFunction(
  'gradients',
  gradientsOptions,
  (options) =>
    pipe(
      checkAddonToRun(options),
      TE.chain(() => withHubWeights(options, gradientsFromFile))
    )
)
