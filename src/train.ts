import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { type Dataset, checkLabels } from './dataset'
import { type Failure, type Outcome, inputFailure } from './failure'
import { pictureCache } from './picture-cache'
import { type Planned, imageSource, planNetwork } from './planning'
import { measureFirst } from './profile'
import { type Opening, type RunningNetwork, withNetwork } from './session'
import { type Choices, agreement, rates } from './training/agreement'
import { leastExtent, trainingBatches } from './training/batches'
import type { Best } from './training/best'
import { checkOptions } from './training/check-options'
import { weightsOfClasses } from './training/class-weights'
import { keeping } from './training/keeping'
import { type Trained, runTraining } from './training/loop'
import { type MetricsFile, openMetrics } from './training/metrics-file'
import { trainingObjective } from './training/objective'
import type { TrainOptions } from './training/options'
import { type TrainingRecord, bestSoFar, emptyRecord } from './training/record'
import { stateToResume } from './training/resume'
import { type State, readResidents } from './training/state'
import { validate } from './training/validation'
import { type Split, datasetsOf } from './training/validation-split'
import { checkWritable } from './whole-file'

export type { StepReport, TrainOptions } from './training/options'

export interface TrainReport extends TrainingRecord {
  /** Complete updates, those before a resumption included; `loss` and `stepMs` have a value each. */
  readonly steps: number
  readonly best: Best | undefined
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

interface Prepared extends Split {
  readonly options: TrainOptions
  readonly planned: Planned
  readonly classes: number
  readonly classWeights: readonly number[] | undefined
  readonly steps: number
  readonly agreed: Choices
  readonly rates: Choices
  readonly state: State | undefined
}

/** Rows of an update. */
const rowsOf = ({ staged }: Planned, { accumulate = 1 }: TrainOptions): number => staged.program.input[0] * accumulate

const stepsOf = ({ steps, epochs = 1 }: TrainOptions, training: Dataset, rows: number): number =>
  steps ?? Math.ceil((epochs * training.examples.length) / rows)

const plan = (options: TrainOptions): Outcome<Planned> => {
  const extra = {
    ...(options.classWeights === undefined ? {} : { rowWeights: true as const }),
    ...(options.validation === undefined ? {} : { evaluate: true as const })
  }
  const objective = trainingObjective(options, extra)
  return pipe(
    measureFirst(options, objective, imageSource),
    TE.chainEitherK(() => planNetwork(options, objective, imageSource))
  )
}

const labelsOf = ({ examples }: Dataset): readonly number[] => examples.map(({ label }) => label)

const warnOfOneClass = ({ onNotice }: TrainOptions, { training, validation }: Split): void => {
  for (const [name, dataset, consequence] of [
    ['training', training, 'nothing can be told apart'],
    ['validation', validation, 'there is no AUC']
  ] as const) {
    const labels = dataset === undefined ? [] : labelsOf(dataset)
    if (new Set(labels).size === 1) onNotice?.(`all ${labels.length} ${name} images are of class ${labels[0]}: ${consequence}`)
  }
}

const findState = (options: TrainOptions, choices: Pick<Prepared, 'agreed' | 'rates'>): Outcome<State | undefined> =>
  options.state === undefined
    ? TE.right(undefined)
    : stateToResume({
        folder: options.state,
        resume: options.resume ?? false,
        ...choices,
        notice: (sentence) => options.onNotice?.(sentence)
      })

/** Everything that can be refused before anything runs. */
const prepare = (options: TrainOptions): Outcome<Prepared> =>
  pipe(
    TE.Do,
    TE.chainFirstEitherK(() => checkOptions(options)),
    TE.chainFirst(() => TE.traverseSeqArray(checkWritable)([options.save, options.best].filter((path) => path !== undefined))),
    TE.bind('split', () => TE.fromEither(datasetsOf(options))),
    TE.bind('planned', () => plan(options)),
    TE.bind('classes', ({ planned }) => TE.fromEither(classesOf(planned))),
    TE.chainFirstEitherK(({ classes, split: { training, validation } }) =>
      E.traverseArray(checkLabels(classes))(validation === undefined ? [training] : [training, validation])
    ),
    TE.bind('classWeights', ({ classes, split }) =>
      TE.fromEither(
        options.classWeights === undefined ? E.right(undefined) : weightsOfClasses(options.classWeights, labelsOf(split.training), classes)
      )
    ),
    TE.let('steps', ({ planned, split }) => stepsOf(options, split.training, rowsOf(planned, options))),
    TE.let('agreed', ({ planned, split }) => agreement(options, planned, split)),
    TE.let('rates', ({ steps }) => rates(options, steps)),
    TE.bind('state', (choices) => findState(options, choices)),
    TE.chainFirstIOK(
      ({ split }) =>
        () =>
          warnOfOneClass(options, split)
    ),
    TE.map(({ split, ...rest }) => ({ options, ...split, ...rest }))
  )

const trainOn =
  (prepared: Prepared, metrics: MetricsFile | undefined) =>
  (network: RunningNetwork): Outcome<Trained> => {
    const { options, planned, training, validation, classes, classWeights, steps, agreed, state } = prepared
    const { seed, flip, rotate = false, colourJitter, signal, save, best } = options
    const { program } = planned.staged
    const [batch, , height, width] = program.input
    const rows = rowsOf(planned, options)
    const epochs = (done: number): number => Math.floor((done * rows) / training.examples.length)
    const [crop, { evaluate }] = [{ height, width }, program]
    const picture = pictureCache(leastExtent(crop, rotate))
    const stop = () => network.interrupt()
    signal?.addEventListener('abort', stop)
    const run = runTraining({
      options,
      network,
      batches: trainingBatches({ dataset: training, seed, batch, crop, flip, rotate, colourJitter, picture }),
      steps,
      accumulate: options.accumulate ?? 1,
      isEpochEnd: (done) => epochs(done) > epochs(done - 1),
      classWeights,
      validate:
        validation && evaluate && validate({ network, section: evaluate, dataset: validation, batch, classes, crop, picture, signal }),
      metrics,
      keeping: keeping(network, program, {
        state: options.state,
        save,
        best,
        agreed,
        rates: prepared.rates,
        resumedAfter: state?.record.loss.length ?? 0
      }),
      before: state?.record ?? emptyRecord
    })
    return () => run().finally(() => signal?.removeEventListener('abort', stop))
  }

const withMetrics = <A>({ options, state }: Prepared, use: (metrics: MetricsFile | undefined) => Outcome<A>): Outcome<A> =>
  options.metrics === undefined
    ? use(undefined)
    : TE.bracket(openMetrics(options.metrics, state?.record.loss.length ?? 0), use, (metrics) => TE.fromTask(() => metrics.close()))

const run = (prepared: Prepared): Outcome<TrainReport> => {
  const { options, planned, state } = prepared
  const opening: Opening = {
    planned,
    device: options.device,
    weights: options.weights,
    state: state && ((exchange) => readResidents(state, planned.staged.program.restore, exchange)),
    seed: options.seed
  }
  return pipe(
    withMetrics(prepared, (metrics) => withNetwork(opening, trainOn(prepared, metrics))),
    TE.map((trained) => ({
      ...trained,
      steps: trained.loss.length,
      best: bestSoFar(trained, options.bestBy ?? 'loss'),
      predictedPeakBytes: planned.staged.plan.predicted.peakDeviceBytes,
      planned
    }))
  )
}

/**
 * Plans and trains: mean softmax cross-entropy over random crops of the dataset's images. The same options and seed give the
 * same bits on the same machine, whether the training ran through or was resumed from its states.
 */
export const train = (options: TrainOptions): Outcome<TrainReport> =>
  pipe(
    prepare(options),
    TE.chainFirstIOK(
      ({ planned }) =>
        () =>
          options.onPlan?.(planned)
    ),
    TE.chain(run)
  )
