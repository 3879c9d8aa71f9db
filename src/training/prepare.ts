import { existsSync } from 'node:fs'
import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { type Graph, getIgnoredLabel, withClassWeights } from '../../staging'
import { type Failure, type Outcome, clause, inputFailure } from '../failure'
import { type Dataset, checkLabels, labelKind, listMasks } from '../datasets/dataset'
import { largestClass } from '../datasets/masks/masks'
import type { Extent2 } from '../images/resolution'
import type { SeenImage } from '../images/image-notices'
import { maxSteps } from '../options/limits'
import { present } from '../options/present'
import { alternatives } from '../text/alternatives'
import { measureFirst } from '../plans/measure-first'
import { buildFittingGraph } from '../plans/fitting-sides'
import { type Planned, type SetupGraph, imageNetSource, planNetwork } from '../plans/plan-network'
import { pickWatching } from '../plans/watching'
import { tap } from '../tasks/tap'
import { type BestBy, bestMeasures, measuresByKind } from './validation/best'
import { countLossClasses } from './loss/loss-classes'
import { ignoreLabel } from './loss/ignore-label'
import { cropCacheBytes, minExtent } from './batches/image-loader'
import { checkImages } from './check-images'
import { notifyOnce } from '../images/unread'
import { type InputChannels, findInputChannels, trainedChannels } from './input-channels'
import {
  checkClassWeights,
  checkRowWeights,
  checkWeightedChannels,
  countLabelsByClass,
  resolveClassWeights,
  hasRowWeights
} from './loss/class-weights'
import { type CropRegions, findCropRegions } from './batches/crop-regions'
import { dataNotices, findAlike } from './data-notices'
import { splitsMicroBatch } from './ranks/launched-mesh'
import type { DecodedTrainOptions } from '../option-tables/train-options'
import type { TrainingObjective } from './training-objective'
import type { TrainingRequest } from './request'
import { findStateToResume } from './state/find-state'
import { type ResumeFingerprint, earlierNaming, rateFingerprint, resumeFingerprint } from './state/resume-fingerprint'
import type { StepIo } from '../../native'
import type { TensorFile } from '../weights/safetensors'
import { restoreState } from './state/state'
import { type TrainingRecord, bestSoFar } from './state/record'
import { type Split, splitForValidation } from './validation/validation-split'
import { type MaskValidation, checkValidateOn, planMaskValidation, tellUncompared } from './validation/mask-validation'

/** The state from which a training goes on. */
export interface Resumed {
  /** Of the first rank, which alone reads it. */
  readonly file?: TensorFile
  /** The record of the steps before. */
  readonly record: TrainingRecord
  /** By what its validations were compared, where the state tells it. */
  readonly bestBy?: BestBy | undefined
  /** Fills the I/O buffer of the Program's `restore`. */
  readonly restore: (io: StepIo) => Outcome<void>
}

/**
 * A training that can begin: planned, its data looked at, and the state found that it goes on from.
 */
export interface PreparedTraining extends Split, MaskValidation {
  readonly request: TrainingRequest
  readonly planned: Planned
  /**
   * The plan by which each of the ranks that share rows evaluates middle crops whole, within the
   * memory of the training; absent where there are none.
   */
  readonly cropEvaluation?: Planned
  readonly channels: InputChannels
  readonly classes: number
  readonly classWeights: readonly number[] | undefined
  readonly steps: number
  /** Host memory of crops that are read by window; absent where no image is in tiles. */
  readonly cropBytes?: number
  readonly fingerprint: ResumeFingerprint
  readonly rates: ResumeFingerprint
  readonly state: Resumed | undefined
  /** Where crops lie. */
  readonly regions: CropRegions
}

/** Rows of an update. */
export const rowsOfUpdate = ({ staged }: Planned, { options }: TrainingRequest): number => staged.program.input[0] * options.accumulate

const countSteps = ({ options: { steps, epochs = 1 } }: TrainingRequest, training: Dataset, rows: number): E.Either<Failure, number> => {
  const wanted = steps ?? Math.ceil((epochs * training.examples.length) / rows)
  return wanted <= maxSteps
    ? E.right(wanted)
    : E.left(inputFailure(`--epochs ${epochs} are ${wanted} steps, over the ${maxSteps} that a training may have: give fewer`))
}

const objectiveFor = (request: TrainingRequest, { training }: Split): TrainingObjective => ({
  ...request.objective,
  ...(hasRowWeights(training, request.options.classWeights) ? { rowWeights: true as const } : {}),
  // Ranks that share a micro-batch validate by a plan of its own.
  ...(request.options.validation === undefined || splitsMicroBatch(request) ? {} : { evaluate: true as const })
})

/** Images as they are normalised. */
const normalisedBy = (built: SetupGraph, { normalisation }: InputChannels): SetupGraph =>
  normalisation === undefined ? built : { ...built, source: { kind: 'image', ...normalisation } }

/** The class weights of pixels are a part of the graph. */
const weightRows = (built: SetupGraph, { training }: Split, weights: readonly number[] | undefined): SetupGraph =>
  weights === undefined || labelKind(training) !== 'mask' ? built : { ...built, graph: withClassWeights(built.graph, weights) }

const findState = (
  { options: { state, resume }, notify }: TrainingRequest,
  { staged }: Planned,
  choices: Pick<PreparedTraining, 'fingerprint' | 'rates'> & { readonly earlierFingerprint: ResumeFingerprint }
): Outcome<Resumed | undefined> =>
  state === undefined
    ? TE.right(undefined)
    : pipe(
        findStateToResume({ folder: state, resume, ...choices, notice: notify }),
        TE.map(
          (found) =>
            found && {
              record: found.record,
              bestBy: bestMeasures.find((measure) => measure === found.rates['best-by']),
              file: found.file,
              restore: (io) => restoreState(found, staged, io)
            }
        )
      )

/**
 * Tells where `--best` does not hold the weights of the best validation that there was, and will
 * not: those of the state itself are written when training goes on.
 */
const tellBestElsewhere = ({ options: { best, bestBy = 'loss' }, notify }: TrainingRequest, found: Resumed | undefined): void => {
  const soFar = found && bestSoFar(found.record, bestBy)
  if (best === undefined || found === undefined || soFar === undefined || soFar.step === found.record.loss.length) return
  const before = found.bestBy ?? bestBy
  const held = bestSoFar(found.record, before)
  const until = `it is written where a validation is better than that after step ${soFar.step}, whose weights it would hold`
  if (!existsSync(best)) notify(`${best} is not there: ${until}`)
  else if (held?.step !== soFar.step) notify(`${best} holds the weights of the best ${before}, after step ${held?.step}: ${until}`)
}

/** How a training's graph comes to its plan. */
export type PlanTraining = (built: SetupGraph, options: DecodedTrainOptions) => Outcome<Planned>

/** Plans in this process, once kernels are measured where that is asked for. */
export const planInProcess: PlanTraining = (built, options) =>
  pipe(
    measureFirst(built, pickWatching(options)),
    TE.chainEitherK(() => planNetwork(built, pickWatching(options)))
  )

/** Refuses a measure of the best that such data do not have. */
const checkMeasure = ({ options: { bestBy, validateOn } }: TrainingRequest, { training, validation }: Split): E.Either<Failure, void> => {
  if (bestBy === undefined) return E.right(undefined)
  const kind = labelKind(training) ?? 'class'
  const measured = measuresByKind[kind].filter((measure) => !(kind === 'mask' && validateOn === 'crop' && measure === 'auc'))
  if (!measured.includes(bestBy))
    return E.left(inputFailure(`--best-by ${bestBy} is not measured on such data; take ${alternatives(measured)}`))
  // Else the first validation would stay the best, and --early-stop would end there.
  const alike = validation && findAlike(bestBy, validation)
  return validation === undefined || alike === undefined
    ? E.right(undefined)
    : E.left(
        inputFailure(
          `--best-by ${bestBy} cannot be measured, since all ${alike}: add others, or take ${alternatives(measured.filter((one) => findAlike(one, validation) === undefined))}`
        )
      )
}

/** Refuses masks of which nothing could be learnt, or measured. */
const checkCounted = ({ training, validation }: Split): E.Either<Failure, void> => {
  for (const [name, dataset] of [
    ['training', training],
    ['validation', validation]
  ] as const) {
    const masks = dataset === undefined ? [] : listMasks(dataset)
    if (masks.length > 0 && masks.every((mask) => largestClass(mask) < 0))
      return E.left(
        inputFailure(
          `${dataset!.examples[0]!.origin}: no pixel of the ${name} masks counts, nor lies in a polygon of a class: label some${name === 'training' ? '' : ', or leave out --validation'}`
        )
      )
  }
  return E.right(undefined)
}

/** The size of the crop that a step sees of each image. */
export const cropExtent = ({ input: [, , height, width] }: Pick<Graph, 'input'>): Extent2 => ({ height, width })

const countCropBytes = (seen: readonly SeenImage[], { staged }: Planned, { pixelBytes }: InputChannels): number | undefined =>
  seen.some(({ header }) => header.view.level.tile !== undefined)
    ? cropCacheBytes({ crop: cropExtent(staged.program), batch: staged.program.input[0], pixelBytes })
    : undefined

/** Plans the evaluation of middle crops within the memory of the training, in the place of that. */
const planCropEvaluation = ({ setup, source, graph }: SetupGraph, { budgetBytes }: Planned): E.Either<Failure, Planned> => {
  const { plan: _plan, placement: _placement, strategy: _strategy, planNotice: _notice, ...rest } = setup
  const evaluated = { ...rest, budget: { kind: 'bytes', bytes: budgetBytes } as const }
  return pipe(
    planNetwork({ setup: evaluated, objective: { kind: 'evaluate', compares: true }, source, graph }),
    E.mapLeft((failure) =>
      failure.code === 'budget'
        ? inputFailure(
            `crops cannot be validated within the memory of a rank (${clause(failure)}): raise --budget, or leave --validation out`
          )
        : failure
    )
  )
}

/** The images as they are read for such a network, and what is to be known of them. */
interface Looked {
  readonly request: TrainingRequest
  readonly seen: readonly SeenImage[]
  readonly channels: InputChannels
}

const lookAtImages = (asked: TrainingRequest, split: Split, graph: Graph): Outcome<Looked> => {
  const [, channels] = graph.input
  const request: TrainingRequest = { ...asked, resolution: { ...asked.resolution, channels } }
  const paths = split.training.examples.map(({ path }) => path)
  return pipe(
    checkImages(split, minExtent(cropExtent(graph), asked.options.rotate), request),
    TE.bindTo('seen'),
    TE.bind('channels', ({ seen }) => findInputChannels(request, seen, paths, channels)),
    TE.map((found) => ({ request, ...found }))
  )
}

/**
 * Refuses, before anything runs, all that can be refused; plans, and finds the state to go on from.
 */
export const prepareTraining = (asked: TrainingRequest, plan: PlanTraining = planInProcess): Outcome<PreparedTraining> => {
  const { options, setup, notify } = asked
  return pipe(
    TE.fromEither(splitForValidation(asked, options.seed)),
    TE.bindTo('split'),
    TE.chainFirstEitherK(({ split }) =>
      pipe(
        checkClassWeights(options.classWeights, split.training),
        E.chain(() => checkValidateOn(asked, split.validation))
      )
    ),
    TE.bind('unweighted', ({ split }) => TE.fromEither(buildFittingGraph(setup, objectiveFor(asked, split), imageNetSource))),
    TE.bind('counted', ({ unweighted: { graph }, split }) =>
      pipe(
        ignoreLabel(graph, split),
        E.chainFirst((counted) => checkMeasure(asked, counted)),
        E.chainFirst(checkCounted),
        TE.fromEither
      )
    ),
    TE.bind('classes', ({ unweighted: { graph }, split, counted: { training, validation } }) =>
      pipe(
        countLossClasses(graph, split, options.classNames?.names),
        E.chainFirst((classes) =>
          E.traverseArray(checkLabels(classes, getIgnoredLabel(graph.nodes.at(-1)!)))(
            validation === undefined ? [training] : [training, validation]
          )
        ),
        TE.fromEither
      )
    ),
    TE.bind('classWeights', ({ unweighted, classes, counted }) =>
      pipe(
        checkWeightedChannels(options.classWeights, unweighted.graph),
        E.chain(() =>
          options.classWeights === undefined
            ? E.right<Failure, readonly number[] | undefined>(undefined)
            : resolveClassWeights(options.classWeights, countLabelsByClass(counted.training, classes))
        ),
        E.chainFirst((weights) => checkRowWeights(weights, counted.training)),
        TE.fromEither
      )
    ),
    TE.bind('looked', ({ split, unweighted }) => lookAtImages(asked, split, unweighted.graph)),
    tap(({ counted }) => dataNotices(counted).forEach(notify)),
    TE.bind('regions', ({ counted, classes, looked: { request } }) =>
      findCropRegions(options, counted.training, classes, request.resolution, {
        signal: options.signal,
        onUnread: options.skipBad ? notifyOnce(notify, 'no tissue is looked for there') : undefined
      })
    ),
    tap(({ regions: { tissueShare, unreadParts = 0 } }) => {
      const unread = unreadParts > 0 ? `; ${unreadParts} part${unreadParts > 1 ? 's' : ''} of them cannot be read` : ''
      if (tissueShare !== undefined) notify(`${Math.round(100 * tissueShare)} % of the training images is tissue${unread}`)
    }),
    TE.let('built', ({ split, unweighted, looked: { channels }, classWeights }) =>
      weightRows(normalisedBy(unweighted, channels), split, classWeights)
    ),
    TE.bind('planned', ({ built }) => plan(built, options)),
    TE.bind('masks', ({ built, planned, split, looked: { request, seen, channels } }) => {
      const least = minExtent(cropExtent(planned.staged.program), options.rotate)
      return planMaskValidation(request, split.validation, { built, planned, seen, least, pixelBytes: channels.pixelBytes })
    }),
    TE.bind('evaluation', ({ built, planned, masks, split: { validation } }) =>
      TE.fromEither(
        splitsMicroBatch(asked) && validation !== undefined && masks.validationGroups === undefined
          ? planCropEvaluation(built, planned)
          : E.right(undefined)
      )
    ),
    TE.bind('steps', ({ looked: { request }, planned, split }) =>
      TE.fromEither(countSteps(request, split.training, rowsOfUpdate(planned, request)))
    ),
    TE.let('fingerprint', ({ looked: { request, channels }, planned, split }) =>
      resumeFingerprint(request, planned, split, trainedChannels(request, channels))
    ),
    TE.let('rates', ({ looked: { request }, steps }) => rateFingerprint(request, steps)),
    TE.bind('state', ({ looked: { request, channels }, planned, split, masks, ...choices }) => {
      const earlierFingerprint = resumeFingerprint(request, planned, split, trainedChannels(request, channels), earlierNaming)
      return pipe(
        findState(request, planned, { ...choices, earlierFingerprint }),
        tap((found) => {
          tellUncompared(request, masks, found?.record.validations ?? [])
          tellBestElsewhere(request, found)
        })
      )
    }),
    TE.map(({ looked: { request, seen, channels }, split, masks, evaluation, ...prepared }) => ({
      ...{ request, channels },
      ...split,
      ...prepared,
      ...present({ cropBytes: countCropBytes(seen, prepared.planned, channels), cropEvaluation: evaluation }),
      ...masks
    }))
  )
}
