import * as E from 'fp-ts/Either'
import { type Failure, type Outcome, interruptedFailure, errorReason } from '../failure'
import { learningRate } from './learning-rate'
import { present } from '../options/present'
import { isPaceDue } from '../running/pace-notice'
import type { RunningNetwork } from '../running/running-network'
import { failOnAllRanks, allGatherNumbers } from '../ranks/ranks'
import { unlessAborted } from '../tasks/unless-aborted'
import type { Batch, Batches } from './batches/batches'
import { countEmptyBatches } from './batches/empty-batches'
import { getMicroBatchShare } from './ranks/launched-mesh'
import type { BestBy } from './validation/best'
import type { Tracker } from './tracker'
import type { StateWriter } from './state/state-writer'
import type { MetricsFile } from './state/metrics-file'
import { type GrowingRecord, type TrainingRecord, bestSoFar, isExhausted } from './state/record'
import type { Quality } from '../metrics/quality'
import type { FillWeights, LossWeights } from './loss/loss-weights'
import type { TrainingRequest } from './request'
import type { ValidateOn } from './validation/validate-on'
import type { StartingWeights } from '../weights/weights'

/** All that steps need, made ready. */
export interface TrainingRun {
  readonly request: TrainingRequest
  readonly network: RunningNetwork
  readonly batches: Batches
  /** Updates in all. */
  readonly steps: number
  /** Images of an update, and pixels of their crops. */
  readonly images: number
  readonly pixels: number
  /** Times through the data after so many steps. */
  readonly epochs: (steps: number) => number
  readonly weights: LossWeights
  /**
   * Agrees with the other ranks on crops before an update, where ranks draw crops anew
   * (`agreeOnDraws`).
   */
  readonly agreeOnDraws: ((microSteps: readonly number[]) => Outcome<boolean>) | undefined
  /** The label of pixels that do not count, where what is learnt are masks. */
  readonly ignored: number | undefined
  readonly validate: Outcome<Quality> | undefined
  /** A sentence on the pace of the steps of this run so far, where there is one to say. */
  readonly paceOf: (stepMilliseconds: readonly number[]) => string | undefined
  /** The part of images with masks that is validated. */
  readonly validatedOn: ValidateOn | undefined
  readonly metrics: MetricsFile | undefined
  /** Whoever else follows it. */
  readonly tracker: Tracker | undefined
  readonly stateWriter: StateWriter
  /** The record of the steps before, where training is resumed; those of this run are added. */
  readonly record: GrowingRecord
}

const notFiniteFailure = (loss: number, step: number, rate: number): Failure => ({
  code: 'loss',
  message:
    step === 0
      ? `the loss is ${loss} at step 1, before any update: start from other weights`
      : `the loss is ${loss} at step ${step + 1}: it diverges at a learning rate of ${rate}; lower --lr, or start from other weights`
})

/**
 * The most steps between states, where nothing says how often they are kept and an epoch is longer.
 */
const maxStepsBetweenStates = 100

interface Update {
  readonly loss: number
  readonly milliseconds: number
  readonly gradientNorm: number | undefined
}

/** Runs update after update. */
interface Updates {
  readonly update: (step: number, rate: number) => Promise<E.Either<Failure, Update>>
  /** What there is to say of batches of this rank in which no pixel counts. */
  readonly noticeEmpty: (isLast: boolean) => string | undefined
  /** Tells whether a rank was asked to stop during the last update. */
  readonly isStopped: () => boolean
  /** Tells whether the device holds the weights and statistics of the last complete update. */
  readonly isBetweenSteps: () => boolean
}

/**
 * Runs update after update; the next micro-batch is decoded while the current one runs. Of ranks
 * each runs every so manyth micro-batch, or its rows of it, and losses are added in the order of
 * micro-batches, and of rows within one.
 */
const createUpdates = (training: TrainingRun): Updates => {
  const { request, network, batches, steps, weights, agreeOnDraws } = training
  const { options, ranks } = request
  const { seed, clipNorm, accumulate } = options
  const { first, every } = getMicroBatchShare(request)
  // Ranks end together: what each was asked is told to all in the end of a step.
  const signal = ranks === undefined ? options.signal : undefined
  let [isBetweenSteps, isStopped] = [true, false]
  const emptyBatches = training.ignored === undefined ? undefined : countEmptyBatches(training.ignored, options.annotated)
  /** What is read ahead, which is nothing before the first step. */
  let next: Promise<E.Either<Failure, Batch>> | undefined
  const inStep = network.exchangesInStep ? ranks : undefined
  /** Its loss, milliseconds, and 1 where this rank was asked to stop. */
  const runMicroBatch = async (
    step: number,
    rate: number,
    index: number,
    weighted: E.Either<Failure, FillWeights>
  ): Promise<E.Either<Failure, readonly number[]>> => {
    const microStep = step * accumulate + index
    const batch = E.isLeft(weighted) ? weighted : await unlessAborted(signal, next ?? batches.load(microStep)())
    // Ranks that wait for this one within the step hear nothing else of it.
    const agreed = await allGatherNumbers(inStep, E.map(() => [])(batch))
    if (E.isLeft(agreed)) return agreed
    if (E.isLeft(weighted)) return weighted
    if (E.isLeft(batch)) return batch
    if (signal?.aborted) return E.left(interruptedFailure(step, steps))
    const { images, target } = batch.right
    network.io.view('target').set(target)
    weighted.right(index, network.io)
    emptyBatches?.see(target)
    isBetweenSteps = false
    next = microStep + every < steps * accumulate ? batches.load(microStep + every)() : undefined
    const nextImages = next?.then(
      E.match(
        () => [],
        (loaded) => loaded.images
      )
    )
    const running = network.step({ learningRate: rate, seed, step: microStep }, images, nextImages)()
    return E.map((milliseconds: number) => [network.io.view('loss')[0]!, milliseconds, options.signal?.aborted ? 1 : 0])(await running)
  }
  const update = async (step: number, rate: number): Promise<E.Either<Failure, Update>> => {
    const parameters = { learningRate: rate, seed }
    const microSteps = Array.from({ length: accumulate }, (_, index) => step * accumulate + index)
    const agreed = agreeOnDraws === undefined ? E.right(false) : await agreeOnDraws(microSteps)()
    if (E.isLeft(agreed)) return agreed
    if (agreed.right) next = batches.load(step * accumulate + first)()
    const weighted = await unlessAborted(signal, weights(microSteps)())
    let [loss, milliseconds] = [0, 0]
    for (let index = first; index < accumulate; index += every) {
      const ran = await runMicroBatch(step, rate, index, weighted)
      // Then others are within a step that this one has left: it ends them.
      if (inStep !== undefined && E.isLeft(ran)) return ran
      const all = await allGatherNumbers(ranks, ran)
      if (E.isLeft(all)) return all
      for (const [ofRank] of all.right) loss += ofRank!
      isStopped = all.right.some(([, , stopped]) => stopped === 1)
      const reduced = await network.reduce({ ...parameters, step })()
      if (E.isLeft(reduced)) return reduced
      milliseconds += Math.max(...all.right.map(([, took]) => took!)) + reduced.right
    }
    if (!Number.isFinite(loss)) return failOnAllRanks(ranks, notFiniteFailure(loss, step, rate))()
    const updated = await network.update({ ...parameters, step })()
    if (E.isLeft(updated)) return updated
    isBetweenSteps = true
    const gradientNorm = clipNorm === undefined ? undefined : network.updateIo?.view('gradientNorm')[0]
    return E.right({ loss, milliseconds: milliseconds + updated.right, gradientNorm })
  }
  return {
    update,
    noticeEmpty: (isLast) => emptyBatches?.notice(isLast),
    isStopped: () => ranks !== undefined && isStopped,
    isBetweenSteps: () => isBetweenSteps
  }
}

/** Validates, and keeps the weights where they are the best so far. */
const validateAfter = async (
  { request: { options, ranks }, metrics, tracker, stateWriter, validatedOn }: TrainingRun,
  validate: Outcome<Quality>,
  record: GrowingRecord
): Promise<E.Either<Failure, void>> => {
  const step = record.loss.length
  const quality = await validate()
  if (E.isLeft(quality)) return quality
  const { loss } = quality.right
  if (!Number.isFinite(loss))
    return failOnAllRanks(ranks, {
      code: 'loss',
      message: `the validation loss is ${loss} after step ${step}: lower --lr, or start from other weights`
    })()
  const validation = { step, ...present({ validatedOn }), ...quality.right }
  record.validations.push(validation)
  const written = await metrics?.validation(validation)()
  if (written !== undefined && E.isLeft(written)) return written
  const tracked = await tracker?.validation(validation, record.crops ?? [])()
  if (tracked !== undefined && E.isLeft(tracked)) return tracked
  options.onValidation?.(validation)
  return bestSoFar(record, options.bestBy ?? 'loss')?.since === 0 ? stateWriter.best(step)() : E.right(undefined)
}

const isDue = (every: number, steps: number): boolean => steps % every === 0

/** Whether an epoch ends with so many steps. */
const endsEpoch = ({ epochs }: TrainingRun, done: number): boolean => Math.floor(epochs(done)) > Math.floor(epochs(done - 1))

/** The validation after the last step, where it is due and was not made. */
const validateIfDue = async (training: TrainingRun, record: GrowingRecord): Promise<E.Either<Failure, void>> => {
  const { steps, validate, request } = training
  const { validateEvery } = request.options
  const done = record.loss.length
  const isValidationDue = done === steps || (validateEvery === undefined ? endsEpoch(training, done) : isDue(validateEvery, done))
  const isMade = done === 0 || record.validations.at(-1)?.step === done
  return validate === undefined || !isValidationDue || isMade ? E.right(undefined) : validateAfter(training, validate, record)
}

/**
 * Everything after a complete step: its metrics, a validation and a state where they are due. In
 * this order, so that a state vouches for the rest.
 */
const completeStep = async (training: TrainingRun, record: GrowingRecord): Promise<E.Either<Failure, void>> => {
  const { metrics, stateWriter } = training
  const { stateEvery } = training.request.options
  const done = record.loss.length
  const validated = await validateIfDue(training, record)
  if (E.isLeft(validated)) return validated
  const isStateDue = stateEvery === undefined ? endsEpoch(training, done) || isDue(maxStepsBetweenStates, done) : isDue(stateEvery, done)
  if (isStateDue && metrics !== undefined) {
    const synced = await metrics.sync()
    if (E.isLeft(synced)) return synced
  }
  return stateWriter.afterStep(record, isStateDue)()
}

const stopText = (record: TrainingRecord, bestBy: BestBy): string => {
  const best = bestSoFar(record, bestBy)
  return `training stops after step ${record.loss.length}: the last ${best?.since} validations brought no better ${bestBy} than step ${best?.step}'s`
}

const runSteps = async (
  training: TrainingRun,
  { update, isStopped, noticeEmpty }: Updates,
  record: GrowingRecord
): Promise<E.Either<Failure, number>> => {
  const { network, steps, metrics, tracker, request, images, pixels, epochs } = training
  const { bestBy = 'loss', earlyStop, schedule, warmup, onStep } = request.options
  const before = record.stepMs.length
  if (before >= steps) request.notify(`the state is after step ${before}, and ${steps} steps are asked for: none is left to run`)
  // What a state was kept in the midst of: of its weights, which are the best, or of a validation.
  const best = bestSoFar(record, bestBy)?.step === before ? await training.stateWriter.best(before)() : E.right(undefined)
  if (E.isLeft(best)) return best
  const validated = await validateIfDue(training, record)
  if (E.isLeft(validated)) return validated
  while (record.loss.length < steps && !isExhausted(record, bestBy, earlyStop)) {
    const step = record.loss.length
    const rate = learningRate(schedule, request.learningRate, step, steps, warmup)
    const updated = await update(step, rate)
    if (E.isLeft(updated)) return updated
    const { loss, milliseconds, gradientNorm } = updated.right
    record.loss.push(loss)
    record.stepMs.push(milliseconds)
    record.learningRate.push(rate)
    const ran = record.stepMs.length - before
    const emptyNotice = noticeEmpty(step + 1 === steps)
    if (emptyNotice !== undefined) request.notify(emptyNotice)
    const pace = isPaceDue(ran, steps - before) ? training.paceOf(record.stepMs.slice(before)) : undefined
    if (pace !== undefined) request.notify(pace)
    const measured = { loss, learningRate: rate, milliseconds, ...present({ gradientNorm }) }
    const written = await metrics?.step({ step: step + 1, ...measured })()
    if (written !== undefined && E.isLeft(written)) return written
    const peakDeviceBytes = (record.peakDeviceBytes ??= network.measuredPeakBytes())
    const report = { step, steps, epoch: epochs(step + 1), ...measured, images, pixels, peakDeviceBytes }
    const tracked = await tracker?.step(report)()
    if (tracked !== undefined && E.isLeft(tracked)) return tracked
    onStep?.(report)
    const completed = await completeStep(training, record)
    if (E.isLeft(completed)) return completed
    if (isStopped() && step + 1 < steps) return failOnAllRanks(request.ranks, interruptedFailure(step + 1, steps))()
  }
  if (record.loss.length < steps) request.notify(stopText(record, bestBy))
  // What loading the state takes is no step's peak.
  return E.right(record.stepMs.length === before ? 0 : network.measuredPeakBytes())
}

/**
 * The record of a training that has ended: losses, milliseconds, validations, peak bytes, and what
 * was left out.
 */
export interface TrainedRecord extends TrainingRecord {
  readonly peakDeviceBytes: number
  /** Crops that could not be read and were drawn anew, where that was asked for. */
  readonly skippedCrops?: number
  /** The images that these were of. */
  readonly skippedCropsOf?: readonly string[]
  /** Tiles of one colour that were not computed; absent where all were. */
  readonly repeatedTiles?: number
  /** Images that could not be read and were left out of validations, where that was asked for. */
  readonly skippedImages?: readonly string[]
  readonly skippedFiles?: readonly string[]
  /** What it started from, where a weights file was read. */
  readonly weights?: StartingWeights
}

/**
 * All steps in turn, and what is left of them on disk: where they end early, what was learnt until
 * then.
 */
export const runUpdates =
  (training: TrainingRun): Outcome<TrainedRecord> =>
  async () => {
    const { record, steps, stateWriter, network } = training
    const run = createUpdates(training)
    const keepAfter = (failure: Failure) => {
      // A device that has failed hands nothing out any more, unless the host has it all.
      return stateWriter.afterFailure(record, failure, run.isBetweenSteps() && (failure.code !== 'device' || network.isSaved()))()
    }
    try {
      const ran = await runSteps(training, run, record)
      if (E.isLeft(ran))
        return keepAfter(ran.left.code === 'interrupted' ? { ...ran.left, ...interruptedFailure(record.loss.length, steps) } : ran.left)
      const finished = await stateWriter.finish(record)()
      return E.isLeft(finished) ? keepAfter(finished.left) : E.right({ ...record, peakDeviceBytes: ran.right })
    } catch (thrown) {
      await keepAfter({ code: 'bug', message: errorReason(thrown) })
      throw thrown
    }
  }
