import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import type { Graph, Objective } from '../../staging'
import { closing } from '../tasks/closing'
import { type Dataset, checkLabels, labelsOf } from '../images/dataset'
import { type Failure, type Outcome, inputFailure } from '../failure'
import type { Extent2 } from '../images/decode-image'
import { mostSteps } from '../options/limits'
import { withLocks } from '../files/locks'
import { withClassWeights } from '../model/model-layers'
import { pixelLossOf } from '../model/pixel-loss'
import { type Planned, graphOfSetup, imageSource, planNetwork } from '../plans/plan-network'
import { measureFirst } from '../plans/measure'
import { type Opening, type RunningNetwork, withNetwork } from '../running/running-network'
import { type ResumeFingerprint, resumeFingerprint, rates } from './resume-fingerprint'
import { type Batches, leastExtent, picturesFor, trainingBatches } from './batches'
import type { Best } from './best'
import { checkWrittenFiles, claimedBy } from './check-files'
import { checkImages } from './check-images'
import { checkOptions } from './check-options'
import { classCounts, weightsOfClasses } from './class-weights'
import { createStateWriter } from './state-writer'
import { type Trained, runTraining } from './loop'
import { type MetricsFile, openMetrics } from './metrics-file'
import { dataNotices } from './notices'
import { trainingObjective } from './objective'
import type { TrainOptions } from './options'
import { type TrainingRecord, bestSoFar, emptyRecord } from './record'
import { stateToResume } from './resume'
import { type State, makeStateFolder, readResidents } from './state'
import { type LossWeights, lossWeightsByClass, lossWeightsByPixel, uniformLossWeights } from './loss-weights'
import { validate } from './validation'
import { type Split, datasetsOf } from './validation-split'
import { removeLeftovers } from '../images/mapped-image-file'
import { couldWrite, removeTraces } from '../files/atomic-write'

export type { StepReport, TrainOptions } from './options'

export interface TrainReport extends TrainingRecord {
  /** Complete updates, those before a resumption included; `loss` and `stepMs` have a value each. */
  readonly steps: number
  readonly best: Best | undefined
  readonly peakDeviceBytes: number
  readonly predictedPeakBytes: number
  readonly planned: Planned
}

/** Classes that the loss tells apart, or a sentence where the model cannot be trained on such labels of RGB images. */
const classesOf = ({ nodes, input, model }: Graph, { training }: Split): E.Either<Failure, number> => {
  const { op, input: scores } = nodes.at(-1)!
  const [wanted, labelled] =
    labelsOf(training) === undefined
      ? (['scores of each class for every pixel, which masks train; end it in [B, classes, H, W]', op === 'pixelCrossEntropy'] as const)
      : ([
          'scores of one class an image, which labelled images train; end it in [B, classes]',
          op === 'softmaxCrossEntropy' && scores[2] * scores[3] === 1
        ] as const)
  if (!labelled) return E.left(inputFailure(`${model} does not end in ${wanted}`))
  return input[1] === 3
    ? E.right(scores[1])
    : E.left(inputFailure(`images are read with 3 channels but the input of ${model} has ${input[1]}`))
}

interface Prepared extends Split {
  readonly options: TrainOptions
  readonly planned: Planned
  readonly classes: number
  readonly classWeights: readonly number[] | undefined
  readonly steps: number
  readonly agreed: ResumeFingerprint
  readonly rates: ResumeFingerprint
  readonly state: State | undefined
}

/** Rows of an update. */
const rowsOf = ({ staged }: Planned, { accumulate = 1 }: TrainOptions): number => staged.program.input[0] * accumulate

const stepsOf = ({ steps, epochs = 1 }: TrainOptions, training: Dataset, rows: number): E.Either<Failure, number> => {
  const wanted = steps ?? Math.ceil((epochs * training.examples.length) / rows)
  return wanted <= mostSteps
    ? E.right(wanted)
    : E.left(inputFailure(`--epochs ${epochs} are ${wanted} steps, over the ${mostSteps} that a training may have: give fewer`))
}

const objectiveFor = (options: TrainOptions, { training }: Split): Objective =>
  trainingObjective(options, {
    ...(options.classWeights === undefined || labelsOf(training) === undefined ? {} : { rowWeights: true as const }),
    ...(options.validation === undefined ? {} : { evaluate: true as const })
  })

/** The class weights of pixels are a part of the model. */
const setupFor = (options: TrainOptions, { training }: Split, { input }: Graph, weights: readonly number[] | undefined): TrainOptions =>
  weights === undefined || labelsOf(training) !== undefined
    ? options
    : { ...options, model: withClassWeights(options.model, input, weights) }

const plan = (options: TrainOptions, objective: Objective): Outcome<Planned> =>
  pipe(
    measureFirst(options, objective, imageSource),
    TE.chainEitherK(() => planNetwork(options, objective, imageSource))
  )

const findState = (options: TrainOptions, choices: Pick<Prepared, 'agreed' | 'rates'>): Outcome<State | undefined> =>
  options.state === undefined
    ? TE.right(undefined)
    : stateToResume({
        folder: options.state,
        resume: options.resume ?? false,
        ...choices,
        notice: (sentence) => options.onNotice?.(sentence)
      })

/** What is best must be measured. */
const checkMeasure = ({ bestBy }: TrainOptions, { training }: Split): E.Either<Failure, void> => {
  const [absent, instead] = labelsOf(training) === undefined ? ['auc', 'iou'] : ['iou', 'auc']
  return bestBy === absent
    ? E.left(inputFailure(`--best-by ${absent} is not measured on such data; take loss, accuracy or ${instead}`))
    : E.right(undefined)
}

/** What a step sees of each image. */
const cropOf = ({ input: [, , height, width] }: Pick<Graph, 'input'>): Extent2 => ({ height, width })

/** Everything that can be refused before anything runs. */
const prepare = (options: TrainOptions): Outcome<Prepared> =>
  pipe(
    TE.Do,
    TE.bind('split', () => TE.fromEither(datasetsOf(options))),
    TE.chainFirstEitherK(({ split }) => checkMeasure(options, split)),
    TE.let('objective', ({ split }) => objectiveFor(options, split)),
    TE.bind('graph', ({ objective }) => TE.fromEither(graphOfSetup(options, objective))),
    TE.bind('classes', ({ graph, split }) => TE.fromEither(classesOf(graph, split))),
    TE.chainFirstEitherK(({ classes, split: { training, validation } }) =>
      E.traverseArray(checkLabels(classes))(validation === undefined ? [training] : [training, validation])
    ),
    TE.bind('classWeights', ({ classes, split }) =>
      TE.fromEither(
        options.classWeights === undefined
          ? E.right(undefined)
          : weightsOfClasses(options.classWeights, classCounts(split.training, classes))
      )
    ),
    TE.chainFirst(({ split, graph }) => checkImages(split, leastExtent(cropOf(graph), options.rotate ?? false), options)),
    TE.chainFirstIOK(
      ({ split }) =>
        () =>
          dataNotices(split).forEach((sentence) => options.onNotice?.(sentence))
    ),
    TE.bind('planned', ({ split, graph, classWeights, objective }) => plan(setupFor(options, split, graph, classWeights), objective)),
    TE.bind('steps', ({ planned, split }) => TE.fromEither(stepsOf(options, split.training, rowsOf(planned, options)))),
    TE.let('agreed', ({ planned, split }) => resumeFingerprint(options, planned, split)),
    TE.let('rates', ({ steps }) => rates(options, steps)),
    TE.bind('state', (choices) => findState(options, choices)),
    TE.map(({ split, objective: _, graph: __, ...rest }) => ({ options, ...split, ...rest }))
  )

/** How rows, or pixels, count. */
const weightsFor = ({ planned, classWeights }: Prepared, batches: Batches): LossWeights => {
  const pixels = pixelLossOf(planned)
  if (pixels !== undefined) return lossWeightsByPixel(pixels, batches)
  return classWeights === undefined ? uniformLossWeights : lossWeightsByClass(classWeights, batches)
}

const trainOn =
  (prepared: Prepared, metrics: MetricsFile | undefined) =>
  (network: RunningNetwork): Outcome<Trained> => {
    const { options, planned, training, validation, classes, steps, agreed, state } = prepared
    const { seed, flip, rotate = false, colourJitter, signal, save, best } = options
    const { program } = planned.staged
    const [batch] = program.input
    const rows = rowsOf(planned, options)
    const epochs = (done: number): number => Math.floor((done * rows) / training.examples.length)
    const [crop, { evaluate }] = [cropOf(program), program]
    const pictures = picturesFor(crop, rotate)
    const batches = trainingBatches({ dataset: training, seed, batch, crop, flip, rotate, colourJitter, pictures })
    const stop = () => network.interrupt()
    signal?.addEventListener('abort', stop)
    const run = runTraining({
      options,
      network,
      batches,
      steps,
      accumulate: options.accumulate ?? 1,
      isEpochEnd: (done) => epochs(done) > epochs(done - 1),
      weights: weightsFor(prepared, batches),
      validate:
        validation && evaluate && validate({ network, section: evaluate, dataset: validation, batch, classes, crop, pictures, signal }),
      metrics,
      keeping: createStateWriter(network, program, {
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

const withMetrics = <A>({ options, state }: Prepared, use: (metrics: MetricsFile | undefined) => Outcome<A>): Outcome<A> => {
  const { metrics: path, onNotice: notice } = options
  if (path === undefined) return use(undefined)
  const { loss } = state?.record ?? emptyRecord
  const opening = openMetrics({ path, steps: loss.length, loss, ...(notice && { notice }) })
  return closing(opening, use, (metrics) => metrics.close())
}

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

const weightFilesOf = ({ save, best }: TrainOptions): readonly string[] => [save, best].filter((path) => path !== undefined)

/** Whether results can be written where they are wanted: over nothing that is read, and nobody else's. */
const checkPlaces = (options: TrainOptions): Outcome<void> =>
  pipe(
    TE.fromEither(checkOptions(options)),
    TE.chainEitherK(() => datasetsOf(options)),
    TE.chain((split) => checkWrittenFiles(options, split)),
    TE.chain(() => TE.traverseSeqArray(couldWrite)(weightFilesOf(options))),
    TE.chain(() => (options.state === undefined ? TE.right(undefined) : makeStateFolder(options.state)))
  )

/**
 * Plans and trains: mean softmax cross-entropy over random crops of the dataset's images, or of
 * their pixels. The same options and seed give the
 * same bits on the same machine, whether the training ran through or was resumed from its states.
 */
export const train = (options: TrainOptions): Outcome<TrainReport> =>
  pipe(
    TE.fromTask(removeLeftovers),
    TE.chain(() => checkPlaces(options)),
    TE.chain(() =>
      withLocks(
        claimedBy(options),
        (sentence) => options.onNotice?.(sentence),
        pipe(
          TE.traverseSeqArray(removeTraces)(weightFilesOf(options)),
          TE.chain(() => prepare(options)),
          TE.chainFirstIOK(
            ({ planned }) =>
              () =>
                options.onPlan?.(planned)
          ),
          TE.chain(run)
        )
      )
    )
  )
