import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { type Failure, type Outcome, inputFailure } from '../failure'
import { type DeviceName, type StepIo, copyTensors, createStepIo } from '../../native'
import { countLabels, getIgnoredLabel, imagesRead, isNormalised, ranksOfOptimizer } from '../../staging'
import type { SeenCrop } from '../images/seen-crop'
import { present } from '../options/present'
import { shareWeights } from '../ranks/share-weights'
import type { Planned } from '../plans/plan-network'
import { paceNotice } from '../running/pace-notice'
import type { RunRecorder } from '../running/run-recorder'
import { type NetworkOptions, type RunningNetwork, withNetwork } from '../running/running-network'
import { noUpdate } from '../running/step-parameters'
import { withResource } from '../tasks/with-resource'
import { type UnreadCrop, agreeOnDraws } from './ranks/agree-on-draws'
import { type Batches, createBatches } from './batches/batches'
import { hasRowWeights } from './loss/class-weights'
import { createImageLoader } from './batches/image-loader'
import { getMicroBatchShare } from './ranks/launched-mesh'
import { trainedChannels } from './input-channels'
import { channelMetadata } from '../weights/channel-metadata'
import { classMetadata } from '../weights/class-metadata'
import { lossMetadata } from '../weights/loss-metadata'
import { resolutionMetadata } from '../weights/resolution-metadata'
import type { Metadata } from '../weights/safetensors'
import { getLossFormula } from '../running/score-kind'
import { type TrainedRecord, type TrainingRun, runUpdates } from './loop'
import { type LossWeights, combineLossWeights, lossWeightsByRow, lossWeightsByTarget, uniformLossWeights } from './loss/loss-weights'
import { learningRate } from './learning-rate'
import { type MetricsFile, type WrittenLine, openMetrics } from './state/metrics-file'
import { type PreparedTraining, cropExtent, rowsOfUpdate } from './prepare'
import { type GrowingRecord, type TrainingRecord, emptyRecord } from './state/record'
import type { TrainingRequest } from './request'
import { saveTogether } from './state/save-together'
import { type StateWriter, createStateWriter } from './state/state-writer'
import type { Tracker } from './tracker'
import type { Quality } from '../metrics/quality'
import type { Evaluating, ValidationRun } from './validation/validation'
import { validateReadable } from './validation/validate-readable'
import { writeImageTable } from './validation/image-table'
import { makePixelMeasure } from '../metrics/pixel-tally'
import { busiestValidationMilliseconds, validateImages } from './validation/validate-images'

type BatchChoices = Omit<Parameters<typeof createBatches>[0], 'onSkipped'>

/** Batches, and how ranks agree on what is drawn anew; they tell of it then. */
const createAgreedBatches = (
  { request }: PreparedTraining,
  choices: BatchChoices,
  { onSkipped }: Skipped
): Pick<TrainingRun, 'batches' | 'agreeOnDraws'> => {
  const { ranks } = request
  if (onSkipped === undefined) return { batches: createBatches(choices), agreeOnDraws: undefined }
  if (ranks === undefined) return { batches: createBatches({ ...choices, onSkipped }), agreeOnDraws: undefined }
  const unread: UnreadCrop[] = []
  const batches = createBatches({ ...choices, onSkipped: ({ message }, image, draw) => void unread.push({ ...draw, image, message }) })
  const { first, every } = getMicroBatchShare(request)
  const agreement = {
    ranks,
    isOwn: (index: number) => index % every === first,
    takeUnread: () => unread.splice(0),
    onUnread: ({ message, image }: UnreadCrop) => onSkipped(inputFailure(message), image)
  }
  return { batches, agreeOnDraws: batches.redraws && agreeOnDraws({ ...agreement, redraws: batches.redraws }) }
}

/** Returns the weights of rows, or of pixels, in the loss. */
const weightsFor = ({ planned, classWeights, training }: PreparedTraining, batches: Batches): LossWeights => {
  const loss = planned.staged.graph.nodes.at(-1)!
  const ofTargets = isNormalised(loss) ? lossWeightsByTarget(loss, batches) : uniformLossWeights
  return hasRowWeights(training, classWeights) ? combineLossWeights(ofTargets, lossWeightsByRow(classWeights, batches)) : ofTargets
}

/**
 * The names of all that the network scores, of two classes that a single score tells apart that of
 * the second; undefined where some of it has none.
 */
const findClassNames = ({ planned: { staged }, training: { names } }: PreparedTraining): readonly string[] | undefined => {
  const loss = staged.graph.nodes.at(-1)!
  const channels = loss.input[1]
  if (channels === 1 && names?.length === 2 && countLabels(loss) === 2) return names.slice(1)
  return names?.length === channels ? names : undefined
}

/** What files of weights say, so that predictions read images alike and name what they find. */
const describeWeights = (prepared: PreparedTraining): Metadata => {
  const channels = trainedChannels(prepared.request, prepared.channels)
  return {
    ...channelMetadata(channels && { ...channels, elementType: prepared.channels.elementType }),
    ...classMetadata(findClassNames(prepared)),
    ...resolutionMetadata(prepared.request.resolution),
    ...lossMetadata(getLossFormula(prepared.planned.staged.graph.nodes.at(-1)!))
  }
}

/** What could not be read and was passed over, where that is asked for. */
interface Skipped {
  readonly onSkipped?: (failure: Failure, image: string) => void
  readonly onSkippedImage?: ((failure: Failure, image: string) => void) | undefined
  /** Crops that were drawn anew, and images that were left out of validations. */
  readonly counts: () => Pick<TrainedRecord, 'skippedCrops' | 'skippedCropsOf' | 'skippedImages' | 'skippedFiles'>
}

/** Counts what is passed over, and tells of each file once. */
const countSkipped = ({ options: { skipBad }, notify, dataset, validation }: TrainingRequest): Skipped => {
  if (!skipBad) return { counts: () => ({}) }
  const told = new Set<string>()
  const left = new Set<string>()
  const files = [dataset, validation].flatMap((data) => (typeof data === 'object' ? (data.skippedFiles ?? []) : []))
  let skipped = 0
  return {
    onSkipped: ({ message }, image) => {
      skipped += 1
      if (!told.has(image)) notify(`${message}; another crop is drawn`)
      told.add(image)
    },
    onSkippedImage: ({ message }, image) => {
      if (!left.has(image)) notify(`${message}; ${image} is left out of validation`)
      left.add(image)
    },
    counts: () => ({
      skippedCrops: skipped,
      skippedCropsOf: [...told],
      skippedImages: [...left],
      ...(files.length > 0 && { skippedFiles: [...new Set(files)] })
    })
  }
}

/** Evaluates by the section of the Program that trains. */
const inTraining = (network: RunningNetwork, { staged: { program } }: Planned): Evaluating => {
  const io = createStepIo(program.evaluate!)
  return { network, io, evaluate: (images) => network.evaluate(io, images) }
}

/**
 * Evaluates by a Program of its own, in the place of the network that is trained, whose weights it
 * takes.
 */
const runInPlace = (
  training: RunningNetwork,
  planned: Planned,
  device: DeviceName,
  validated: (evaluating: () => Evaluating) => Outcome<Quality>
): Outcome<Quality> => {
  let current: Evaluating | undefined
  const validate = validated(() => current!)
  return training.suspendWhile((weights) => {
    const state = (io: StepIo): Outcome<void> => TE.fromIO(() => copyTensors(planned.staged.program.restore.stepIo, weights, io))
    return withNetwork({ planned, device, state, seed: 0 }, (network) => {
      current = { network, io: network.io, evaluate: (images) => network.step(noUpdate, images) }
      return validate
    })
  })
}

/** The measures of the validation set after the steps so far; absent where there is none. */
const measureValidation = (
  { request, planned, validation, validationGroups, cropEvaluation, classes }: PreparedTraining,
  running: Pick<ValidationRun, 'loader' | 'batch' | 'crop' | 'onCrops' | 'onValidating'> &
    Pick<Evaluating, 'network'> &
    Pick<Skipped, 'onSkippedImage'>
): Outcome<Quality> | undefined => {
  const loss = planned.staged.graph.nodes.at(-1)!
  const { signal, perImage } = request.options
  const { ranks } = request
  if (validation === undefined) return undefined
  if (validationGroups === undefined) {
    const validated = (evaluating: () => Evaluating): Outcome<Quality> =>
      validateReadable({ ...running, evaluating, loss, dataset: validation, classes, signal, ranks }, running.onSkippedImage)
    return cropEvaluation === undefined
      ? validated(() => inTraining(running.network, planned))
      : runInPlace(running.network, cropEvaluation, request.setup.device, validated)
  }
  return pipe(
    validateImages({
      ...running,
      groups: validationGroups,
      measure: makePixelMeasure(loss),
      device: request.setup.device,
      // Ranks end together, after a step.
      signal: ranks === undefined ? signal : undefined,
      ranks,
      onSkipped: running.onSkippedImage && ((failure, { example }) => running.onSkippedImage?.(failure, example.path))
    }),
    // One rank may have a slide more, or a larger one, than the others.
    ranks === undefined ? (validated) => validated : ranks.whileExpecting(busiestValidationMilliseconds(validationGroups, ranks.size)),
    TE.chainFirst(({ images }) =>
      perImage === undefined
        ? TE.right(undefined)
        : writeImageTable(perImage, validation.names ?? Array.from({ length: classes }, (_, index) => `${index}`), images)
    ),
    TE.map(({ quality }) => quality)
  )
}

const trainOn =
  (prepared: PreparedTraining, { record, tracker }: Followers, metrics: MetricsFile | undefined) =>
  (network: RunningNetwork): Outcome<TrainedRecord> => {
    const skipped = countSkipped(prepared.request)
    const { request, planned, training, classes, steps, fingerprint, state } = prepared
    const { seed, flip, rotate, colourJitter, stainJitter, signal, save, best } = request.options
    const { program } = planned.staged
    const [batch] = program.input
    const rows = rowsOfUpdate(planned, request)
    const crop = cropExtent(program)
    const loader = createImageLoader({ crop, batch, rotate, resolution: request.resolution, pixelBytes: prepared.channels.pixelBytes })
    const { regions } = prepared
    const drawing = { dataset: training, classes, seed, batch, crop, flip, rotate, colourJitter, stainJitter, loader, regions }
    const drawn = { ...drawing, rowsRead: imagesRead(planned.staged) }
    const { batches, agreeOnDraws: agree } = createAgreedBatches(prepared, drawn, skipped)
    const { report, live, tensorboard, onValidating } = request.options
    const isSeen = [report, live, tensorboard].some((shown) => shown !== undefined)
    const onCrops = !isSeen ? undefined : (crops: readonly SeenCrop[]) => void (record.crops = crops)
    const sharesOptimizer = ranksOfOptimizer(planned.staged.graph.objective) !== undefined
    const createWriter = (of: RunningNetwork): StateWriter =>
      createStateWriter(of, program, {
        state: request.options.state,
        save,
        best,
        fingerprint,
        rates: prepared.rates,
        resumedAfter: state?.record.loss.length ?? 0,
        // A copy of slices is gathered from all ranks.
        keepsLongSteps: request.ranks !== undefined && request.options.state !== undefined && !sharesOptimizer,
        metadata: describeWeights(prepared)
      })
    const stateWriter = sharesOptimizer ? saveTogether(request.ranks!, network, program, createWriter) : createWriter(network)
    // Ranks end together, after a step, unless the launcher ends them sooner.
    const stop = () => void (request.ranks === undefined ? network.interrupt() : stateWriter.keepLast(record)())
    signal?.addEventListener('abort', stop)
    const run = runUpdates({
      request,
      network,
      batches,
      steps,
      images: rows,
      pixels: rows * crop.height * crop.width,
      epochs: (done) => (done * rows) / training.examples.length,
      weights: weightsFor(prepared, batches),
      ignored: getIgnoredLabel(planned.staged.graph.nodes.at(-1)!),
      agreeOnDraws: agree,
      validate: measureValidation(prepared, {
        network,
        loader,
        batch,
        crop,
        onCrops,
        onValidating,
        onSkippedImage: skipped.onSkippedImage
      }),
      // Of ranks each step waits for the slowest.
      paceOf: (stepMs) => (request.ranks === undefined ? paceNotice(planned, stepMs) : undefined),
      validatedOn: prepared.validatedOn,
      metrics,
      tracker,
      stateWriter,
      record
    })
    const withMore = TE.map((trained: TrainedRecord): TrainedRecord => ({
      ...trained,
      ...(network.repeatedTiles() > 0 && { repeatedTiles: network.repeatedTiles() }),
      ...present({ weights: network.startingWeights, ...skipped.counts() })
    }))
    if (network.startingWeights?.notice !== undefined) request.notify(network.startingWeights.notice)
    if (network.startingWeights !== undefined) request.options.onWeights?.(network.startingWeights)
    const ran = request.ranks?.whileExpecting(planned.staged.predicted.stepMilliseconds)(run) ?? run
    return () => withMore(ran)().finally(() => signal?.removeEventListener('abort', stop))
  }

/** The lines of the last step of a record, as the metrics have them. */
const lastLines = (
  { loss, stepMs, learningRate: rates, validations }: TrainingRecord,
  { request: { options, learningRate: base }, steps }: PreparedTraining
): readonly WrittenLine[] => {
  const step = loss.length
  if (step === 0) return []
  const rate = rates[step - 1] ?? learningRate(options.schedule, base, step - 1, steps, options.warmup)
  return [
    { step, loss: loss[step - 1]!, learningRate: rate, milliseconds: stepMs[step - 1]! },
    ...validations.flatMap(({ step: after, ...validation }) => (after === step ? [{ step, validation }] : []))
  ]
}

const withMetrics = <A>(prepared: PreparedTraining, use: (metrics: MetricsFile | undefined) => Outcome<A>): Outcome<A> => {
  const { request, state } = prepared
  const { metrics: path } = request.options
  if (path === undefined) return use(undefined)
  const record = state?.record ?? emptyRecord
  const { loss } = record
  const opening = openMetrics({ path, steps: loss.length, loss, last: lastLines(record, prepared), notice: request.notify })
  return withResource(opening, use, (metrics) => metrics.close())
}

/** Those who see a training as it goes. */
interface Followers {
  /** Has the steps before, and grows. */
  readonly record: GrowingRecord
  /** Absent where nothing is traced. */
  readonly recorder?: RunRecorder | undefined
  readonly tracker?: Tracker | undefined
}

/**
 * Opens the network and the metrics, and trains; both are closed whatever happens.
 */
export const runPrepared = (prepared: PreparedTraining, { record, recorder, tracker }: Followers): Outcome<TrainedRecord> => {
  const { request, planned, training, state } = prepared
  const { ranks } = request
  const { weights, newHead, reset = [] } = request.options
  const source = { resets: { newHead, reset }, classNames: training.names, onNotice: request.notify }
  const opening: NetworkOptions = {
    planned,
    device: request.setup.device,
    weights: weights === undefined ? undefined : { path: weights, ...source },
    state: state?.restore,
    share: ranks && shareWeights(ranks),
    network: ranks?.network,
    seed: request.options.seed,
    recorder
  }
  return withMetrics(prepared, (metrics) => withNetwork(opening, trainOn(prepared, { record, tracker }, metrics)))
}
