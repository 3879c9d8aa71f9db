import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { type Failure, type Outcome, inputFailure } from '../failure'
import { checkCanWrite, removeTraces } from '../files/atomic-write'
import { checkWrittenKind } from '../files/written-kind'
import { withLocks } from '../files/write-locks'
import { checkPaths, namedPaths } from '../files/paths'
import type { SplitPart } from '../datasets/data-rules'
import type { Dataset } from '../datasets/dataset'
import { loadDataset } from '../datasets/load-dataset'
import { removeLeftovers } from '../images/mapped-image-file'
import { libraryFunction } from '../options/decode-options'
import { present } from '../options/present'
import { makeDataRules } from '../option-tables/data-options'
import { makeReading } from '../option-tables/image-options'
import { type DecodedTrainOptions, type TrainOptions, trainOptions } from '../option-tables/train-options'
import { checkAddonToRun } from '../plans/check-addon'
import { resolveSetup, requireLocalDevice } from '../plans/resolve-setup'
import { setupReads } from '../plans/setup-files'
import { checkHeatMapModel } from '../predicting/heat-map'
import { joinRanks } from '../ranks/join'
import { type Ranks, agreeAfter } from '../ranks/ranks'
import { checkPort } from '../reports/live'
import { printable } from '../text/printable'
import { checkTrackers } from '../tracking/with-trackers'
import type { Best, Validation } from '../training/validation/best'
import { agreeOnOptions } from '../training/ranks/agree-on-options'
import { checkWrittenFiles, listClaimedOutputs, outputPaths } from '../training/check-files'
import { findFinished } from '../training/finished'
import type { TrainedRecord } from '../training/loop'
import { trainingObjective } from '../training/training-objective'
import { defaultLearningRate } from '../training/optimizer'
import { checkRanks, optionsOfRank, prepareOnRanks } from '../training/ranks/train-on-ranks'
import { type PreparedTraining, prepareTraining } from '../training/prepare'
import { bestSoFar } from '../training/state/record'
import type { TrainingRequest } from '../training/request'
import { makeStateFolder } from '../training/state/state'
import { splitForValidation } from '../training/validation/validation-split'
import { withHubWeights } from '../weights/hub-weights'
import { openWeightFile } from '../weights/open-weight-file'
import type { StartingWeights } from '../weights/weights'
import { runAndShow } from './show-training'

/** What a training was: a loss and milliseconds a step, peaks in bytes, and validations. */
export interface TrainReport {
  /**
   * Complete updates of the weights, those before a resumption included; `loss` and `stepMs` have a
   * value each.
   */
  readonly steps: number
  readonly loss: readonly number[]
  readonly stepMs: readonly number[]
  /** Highest byte that was changed, plus one; 0 where no step was left to run. */
  readonly peakDeviceBytes: number
  readonly predictedPeakBytes: number
  /**
   * Host memory of crops that are read by window, for a step and the one ahead; absent where no
   * image is in tiles.
   */
  readonly cropBytes?: number
  /** Tiles of one colour that followed such a tile, and so were not computed again in this run. */
  readonly repeatedTiles?: number
  /** What the training started from, where a weights file was read. */
  readonly weights?: StartingWeights
  /** With `skipBad`: crops that could not be read and were drawn anew. */
  readonly skippedCrops?: number
  /** With `skipBad`: the images that these were of. */
  readonly skippedCropsOf?: readonly string[]
  /** With `skipBad`: images that could not be read and were left out of validations. */
  readonly skippedImages?: readonly string[]
  /** With `skipBad`: images and masks that could not be read, and whose rows were left out. */
  readonly skippedFiles?: readonly string[]
  /** Results of the validations, where validation was asked for. */
  readonly validations?: readonly Validation[]
  readonly best?: Best
}

/** A file of another format, over which safetensors would be written. */
const isTorchFile = (path: string | undefined): boolean => /\.(pth?|bin|ckpt)$/i.test(path ?? '')

/**
 * Weights may go on in the file that they came from, if it is safetensors: it is read before the
 * first step, and replaced whole in the end.
 */
const checkFiles = (options: DecodedTrainOptions): Outcome<void> => {
  const { data, validation, weights, signal } = options
  const reads = [...setupReads(options), ...namedPaths('--data', data), ...namedPaths('--validation', validation)]
  return pipe(
    TE.fromTask(() => outputPaths(options)),
    TE.chainFirst((writes) => checkPaths({ reads, writes }, signal)),
    TE.chain((writes) =>
      checkPaths(
        { reads: namedPaths('--weights', weights), writes: isTorchFile(weights) ? writes : writes.filter(({ name }) => name !== '--save') },
        signal
      )
    )
  )
}

const loadTrainingData = (data: string | Dataset, option: string, part: SplitPart, options: DecodedTrainOptions): Outcome<Dataset> =>
  typeof data === 'string'
    ? loadDataset(data, makeDataRules(options, { option, part, skipBad: options.skipBad }), options.signal)
    : TE.right(data)

const loadValidation = (options: DecodedTrainOptions): Outcome<Dataset | number | undefined> => {
  const { validation } = options
  return validation === undefined || typeof validation === 'number'
    ? TE.right(validation)
    : loadTrainingData(validation, '--validation', 'validation', options)
}

const checkLength = ({ steps, epochs }: DecodedTrainOptions): E.Either<Failure, void> =>
  steps === undefined || epochs === undefined
    ? E.right(undefined)
    : E.left(inputFailure('--steps and --epochs both say how long to train: give one of them'))

/** Reads the data, and loads the model for their classes. */
const resolveRequest = (options: DecodedTrainOptions): Outcome<TrainingRequest> =>
  pipe(
    TE.fromEither(trainingObjective(options)),
    TE.bindTo('objective'),
    TE.chainFirstEitherK(() => checkLength(options)),
    TE.bind('resolution', () => TE.fromEither(makeReading(options))),
    TE.chainFirst(() => checkFiles(options)),
    TE.bind('dataset', () => loadTrainingData(options.data, '--data', 'train', options)),
    TE.bind('validation', () => loadValidation(options)),
    TE.bind('setup', ({ dataset }) => pipe(resolveSetup(options, dataset.classes), TE.chainEitherK(requireLocalDevice))),
    TE.chainFirstEitherK(({ setup }) =>
      options.heatmap === undefined ? E.right(undefined) : checkHeatMapModel(options.heatmap, setup.model)
    ),
    TE.map((found) => ({
      options,
      ...found,
      learningRate: options.lr ?? defaultLearningRate(options.optimizer),
      notify: (sentence) => options.onNotice?.(printable(sentence))
    }))
  )

/** What is replaced whole, in the end or as the training goes. */
const listReplacedFiles = ({ save, best, perImage, report, trace }: DecodedTrainOptions): readonly string[] =>
  [save, best, perImage, report, trace].filter((path) => path !== undefined)

/**
 * Checks that results can be written where they are wanted: over nothing that is read, and nobody
 * else's; that the page can be served, and that MLflow answers.
 */
const checkPlaces = ({ options, ...request }: TrainingRequest): Outcome<void> =>
  pipe(
    TE.fromEither(splitForValidation(request, options.seed)),
    TE.chain((split) => checkWrittenFiles(options, split)),
    TE.chain(() => TE.traverseSeqArray(checkWrittenKind)(listClaimedOutputs(options))),
    TE.chain(() => TE.traverseSeqArray(checkCanWrite)(listReplacedFiles(options))),
    TE.chain(() => (options.live === undefined ? TE.right(undefined) : checkPort(options.live))),
    TE.chain(() => checkTrackers(options)),
    TE.chain(() => (options.state === undefined ? TE.right(undefined) : makeStateFolder(options.state)))
  )

const createReport = ({ request, planned, cropBytes }: PreparedTraining, trained: TrainedRecord): TrainReport => {
  const { loss, stepMs, validations, peakDeviceBytes, skippedCrops, skippedCropsOf, skippedImages, skippedFiles, weights, repeatedTiles } =
    trained
  const best = bestSoFar(trained, request.options.bestBy ?? 'loss')
  return {
    steps: loss.length,
    loss,
    stepMs,
    peakDeviceBytes,
    predictedPeakBytes: planned.staged.predicted.peakDeviceBytes,
    ...present({ weights, cropBytes, repeatedTiles, skippedCrops, skippedCropsOf, skippedImages, skippedFiles }),
    ...(validations.length === 0 ? {} : { validations, ...present({ best }) })
  }
}

/** Plans and trains, where nobody else writes to the same files. */
const trainLocked = (request: TrainingRequest): Outcome<TrainReport> => {
  const { options, notify } = request
  const runTold = (prepared: PreparedTraining): Outcome<TrainedRecord> => {
    options.onPlan?.(prepared.planned)
    return runAndShow(prepared)
  }
  return withLocks(
    listClaimedOutputs(options),
    notify,
    pipe(
      removeTraces(listReplacedFiles(options)),
      TE.chain(() => (request.ranks === undefined ? prepareTraining(request) : prepareOnRanks(request, request.ranks))),
      TE.chain((prepared) =>
        pipe(
          TE.fromTask(findFinished(prepared)),
          TE.chain((finished) => (finished === undefined ? runTold(prepared) : TE.right(finished))),
          TE.map((trained) => createReport(prepared, trained))
        )
      )
    )
  )
}

/** Whether there are weights where a training is to start from some, before it is planned. */
const checkWeights = ({ weights }: DecodedTrainOptions): Outcome<unknown> =>
  weights === undefined
    ? TE.right(undefined)
    : pipe(
        openWeightFile(weights),
        TE.mapLeft((failure) => ({ ...failure, message: `--weights ${failure.message}` }))
      )

/** A request for which there is all that it names, and room for its results. */
const checkRequest = (options: DecodedTrainOptions): Outcome<TrainingRequest> =>
  pipe(
    checkAddonToRun(options),
    TE.chain(() =>
      withHubWeights(options, (local) =>
        pipe(
          resolveRequest(local),
          TE.chainFirst(() => checkWeights(local)),
          TE.chainFirstTaskK(() => removeLeftovers),
          TE.chainFirst(checkPlaces)
        )
      )
    )
  )

const aloneFailure = ({ shardImages }: DecodedTrainOptions): string => {
  const what = shardImages === false ? '--shard-rows shares rows' : '--shard-images shares images'
  return `${what} among the processes that mpirun starts, and this one is alone: start it with mpirun`
}

const trainByItself = (options: DecodedTrainOptions): Outcome<TrainReport> =>
  options.shardImages !== false || options.shardRows !== false
    ? TE.left(inputFailure(aloneFailure(options)))
    : pipe(checkRequest(options), TE.chain(trainLocked))

/** Trains as one of several ranks, which share the micro-batches of each update. */
const trainAsRank = (options: DecodedTrainOptions, ranks: Ranks): Outcome<TrainReport> =>
  pipe(
    TE.fromEither(checkRanks(options, ranks)),
    TE.chain(() => checkRequest(optionsOfRank(options, ranks))),
    agreeAfter(ranks),
    TE.chainFirst(() => agreeOnOptions(ranks, options)),
    TE.chain((request) => trainLocked({ ...request, ranks }))
  )

/** Trains as `train` does, as one rank of `ranks`: tests run several ranks in one process. */
export const trainOn = (ranks: Ranks): ((options: TrainOptions) => Outcome<TrainReport>) =>
  libraryFunction('train', trainOptions, (options) => trainAsRank(options, ranks))

/**
 * Plans and trains, on random crops of labelled images, or of images with masks, by the loss of
 * `loss` or the model's own, or else mean softmax cross-entropy. The same options and seed give the
 * same bits on the same machine, whether the training ran through or was resumed. Fails with code
 * `input`, `budget` (does not fit), `loss` (not finite) or `interrupted` (by `signal`). Where a
 * launcher of MPI has started several processes, they share the micro-batches of each update, the
 * first alone writes files, and all train to the same bits as any other number of ranks
 * (docs/ranks.md).
 */
export const train: (options: TrainOptions) => Outcome<TrainReport> = libraryFunction('train', trainOptions, (options) =>
  pipe(
    TE.fromEither(joinRanks()),
    TE.chain((ranks) => (ranks === undefined ? trainByItself(options) : trainAsRank(options, ranks)))
  )
)
