import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { isLearnable } from '../../staging'
import { type Numbers, exchangeFor } from './step-io'
import { type Failure, type Outcome, inputFailure } from '../failure'
import { pixelLossOf, setPixelWeights, weightOfPixels } from '../model/pixel-loss'
import { type Planned, planNetwork } from '../plans/plan-network'
import type { RunnableSetup } from '../plans/setup'
import { type Watching, measureFirst } from '../plans/measure'
import { type TensorData, type TensorFile, openTensorFile, readTensor, writeTensorFile } from '../weights/safetensors'
import { checkWritable } from '../files/atomic-write'
import { type RunningNetwork, stoppable, withNetwork } from './running-network'
import { tensorOf } from '../weights/weights'

export interface GradientsOptions extends RunnableSetup, Watching {
  /** Safetensors of the parameters. */
  readonly weights: string
  /** Safetensors of `input` [B, C, H, W] (taken as it is) and `target` int64 [B], or [B, H, W] of a loss over pixels. */
  readonly batch: string
  /** Safetensors to write: loss, grad.input, grad.<parameter>, after.<running statistics>. */
  readonly out: string
  readonly onPlan?: (planned: Planned) => void
}

export interface GradientsReport {
  readonly loss: number
  readonly strategy: string
  readonly peakDeviceBytes: number
  readonly predictedPeakBytes: number
}

const shapeOf = (file: TensorFile, name: string): E.Either<Failure, readonly number[]> => {
  const entry = file.tensors.get(name)
  return entry === undefined
    ? E.left(inputFailure(`${file.path}: has no tensor ${name}; a batch holds input and target`))
    : E.right(entry.shape)
}

/** The batch's own shape decides; an input that was asked for must agree. */
const inputOf = (options: GradientsOptions, file: TensorFile): E.Either<Failure, readonly number[]> =>
  pipe(
    shapeOf(file, 'input'),
    E.filterOrElse(
      (shape) => options.input === undefined || options.input.join() === shape.join(),
      (shape) => inputFailure(`${file.path}: input is ${shape.join('x')} but --input says ${options.input?.join('x')}`)
    )
  )

/** What labels there are, and how many; `ignored` ones do not count. */
interface Labels {
  readonly count: number
  readonly classes: number
  readonly ignored?: number
}

/** Labels are read as float64, which holds what int32 would wrap around, and checked before they are handed over. */
const fillLabels = (file: TensorFile, { count, classes, ignored }: Labels, target: Numbers): Outcome<void> => {
  const labels = new Float64Array(count)
  const fail = (fault: string): E.Either<Failure, void> => E.left(inputFailure(`${file.path}: ${fault}`))
  return pipe(
    readTensor(file, 'target', labels),
    TE.chainEitherK(() => {
      const fractional = labels.find((label) => !Number.isInteger(label))
      if (fractional !== undefined) return fail(`the label ${fractional} is not a whole number; store target as int64`)
      const wrong = labels.find((label) => label !== ignored && (label < 0 || label >= classes))
      if (wrong !== undefined)
        return fail(
          `the label ${wrong} is out of range: the model's classes are 0 to ${classes - 1}${ignored === undefined ? '' : `, and ${ignored} is ignored`}`
        )
      return E.right(target.set(labels))
    })
  )
}

const fillTarget = (file: TensorFile, planned: Planned, network: RunningNetwork): Outcome<void> => {
  const { op, input } = planned.staged.graph.nodes.at(-1)!
  const [batch, classes] = input
  const target = network.exchange.view('target')
  const pixels = pixelLossOf(planned)
  if (pixels !== undefined)
    return pipe(
      fillLabels(file, { count: target.length, classes, ignored: pixels.ignored }, target),
      TE.map(() => setPixelWeights(pixels, weightOfPixels(pixels, target), network.exchange))
    )
  return op === 'softmaxCrossEntropy' ? fillLabels(file, { count: batch, classes }, target) : readTensor(file, 'target', target)
}

const targetShapeOf = ({ staged }: Planned): readonly number[] => staged.program.step.exchanged.find(({ name }) => name === 'target')!.shape

const fillBatch = (file: TensorFile, planned: Planned, network: RunningNetwork): Outcome<void> => {
  const wanted = targetShapeOf(planned)
  const isLabels = planned.staged.graph.nodes.at(-1)!.op !== 'meanSquaredError'
  return pipe(
    TE.fromEither(shapeOf(file, 'target')),
    TE.filterOrElse(
      (shape) => !isLabels || shape.join() === wanted.join(),
      (shape) => inputFailure(`${file.path}: target is [${shape.join(', ')}] where the model needs [${wanted.join(', ')}]`)
    ),
    TE.chain(() => readTensor(file, 'input', network.exchange.view('input'))),
    TE.chain(() => fillTarget(file, planned, network))
  )
}

/** What a training step makes of the running statistics. */
const runningStatistics = (planned: Planned, network: RunningNetwork): Outcome<readonly TensorData[]> => {
  const running = network.parameters.filter((parameter) => !isLearnable(parameter))
  if (running.length === 0) return TE.right([])
  const exchange = exchangeFor(planned.staged.program.save)
  return pipe(
    network.save(exchange),
    TE.map(() => running.map(({ name, shape }) => tensorOf(`after.${name}`, shape, exchange.view(name))))
  )
}

const writeGradients = (path: string, planned: Planned, network: RunningNetwork): Outcome<number> => {
  const { exchanged } = planned.staged.program.step
  const loss = network.exchange.view('loss')[0]!
  const gradients = exchanged
    .filter(({ name }) => name.startsWith('grad.'))
    .map(({ name, shape }) => tensorOf(name, shape, network.exchange.view(name)))
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
        TE.chain((statistics) => writeTensorFile(path, [tensorOf('loss', [], lossData), ...gradients, ...statistics]))
      )
    )
  )
}

/** One forward and backward in training mode without dropout: mean softmax cross-entropy and all its gradients, into a file. */
export const gradients = (options: GradientsOptions): Outcome<GradientsReport> =>
  pipe(
    TE.Do,
    TE.chainFirst(() => checkWritable(options.out)),
    TE.bind('file', () => openTensorFile(options.batch)),
    TE.bind('input', ({ file }) => TE.fromEither(inputOf(options, file))),
    TE.chainFirst(({ input }) => measureFirst({ ...options, input }, { kind: 'gradients' }, { kind: 'float' })),
    TE.bind('planned', ({ input }) => TE.fromEither(planNetwork({ ...options, input }, { kind: 'gradients' }, { kind: 'float' }))),
    TE.chainFirstIOK(
      ({ planned }) =>
        () =>
          options.onPlan?.(planned)
    ),
    TE.chain(({ file, planned }) =>
      withNetwork({ planned, device: options.device, weights: options.weights, seed: 0 }, (network) =>
        pipe(
          fillBatch(file, planned, network),
          TE.chain(() => stoppable(options.signal, network, network.step({ learningRate: 0, step: 0, seed: 0 }, []))),
          TE.chain(() => writeGradients(options.out, planned, network)),
          TE.map((loss) => ({
            loss,
            strategy: planned.staged.plan.strategy,
            peakDeviceBytes: network.measuredPeakBytes(),
            predictedPeakBytes: planned.staged.plan.predicted.peakDeviceBytes
          }))
        )
      )
    )
  )
