import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { callback, extents, flag, oneOf, path, positive, whole } from '../options/codecs'
import { type Dataset, readDataset } from '../images/dataset'
import type { Outcome } from '../failure'
import { defaultLearningRate } from '../training/optimizer'
import { checkPaths, named } from '../files/paths'
import { printable } from '../text/printable'
import { type Schedule, parseSchedule } from '../training/schedule'
import { type TrainOptions as Training, type TrainReport as Trained, train as runTraining } from '../training/train'
import { type ColourJitter, parseColourJitter } from '../training/augmentation'
import type { Best, Validation } from '../training/best'
import { checkOptions } from '../training/check-options'
import { type ClassWeights, parseClassWeights } from '../training/class-weights'
import { writtenBy } from '../training/check-files'
import { parseFraction } from '../training/validation-split'
import { answering, optionsOf } from '../options/decode-options'
import { dataCodec, validationCodec } from '../images/dataset-codec'
import { type OptimizerOptions, objectiveOf, optimizerCodecs } from '../options/optimizer-options'
import { type SetupOptions, modelCodec, runnable, setupCodecs, setupOf, watchingCodecs } from '../options/setup-options'
import { setupReads } from '../options/setup-reads'
import { classWeightsCodec, colourJitterCodec, scheduleCodec } from '../options/training-codecs'
import { orTextIfPresent, present } from '../options/option-values'
import { mostSteps } from '../options/limits'

/** Options that the trainer takes as they are. */
const direct = [
  'steps',
  'epochs',
  'warmup',
  'rotate',
  'validateEvery',
  'best',
  'bestBy',
  'earlyStop',
  'metrics',
  'weights',
  'save',
  'state',
  'stateEvery',
  'resume',
  'checkData',
  'onCheck',
  'onPlan',
  'onStep',
  'onValidation',
  'onNotice',
  'onKernel',
  'signal'
] as const
type Direct = Pick<Training, (typeof direct)[number]>

export interface TrainOptions extends SetupOptions, OptimizerOptions, Direct {
  /** A folder with one folder of images a class, a CSV file of `path,label` or `path,mask` rows, or what `readDataset` made of either. */
  readonly data: string | Dataset
  /** Learning rate; of sgd 0.01, of adam and adamw 0.001 where absent. */
  readonly lr?: number
  /** A schedule, or its text: 'constant' (where absent), 'cosine', 'step:EVERY:FACTOR'. */
  readonly schedule?: Schedule | string
  /** [H, W] of random crops; the input's where absent. */
  readonly crop?: readonly number[]
  /** Random horizontal and vertical flips. */
  readonly flip?: boolean
  /** A jitter, or its text 'brightness,contrast,saturation,hue'. */
  readonly colourJitter?: ColourJitter | string
  /** 'balanced', one number a class, or their text '1,2.5'. */
  readonly classWeights?: ClassWeights | string
  /** Images like `data`, or the share of the data that is set aside, such as 0.2. */
  readonly validation?: string | number | Dataset
}

export interface TrainReport {
  /** Complete updates of the weights, those before a resumption included; `loss` and `stepMs` have a value each. */
  readonly steps: number
  readonly loss: readonly number[]
  readonly stepMs: readonly number[]
  /** Highest byte that was changed, plus one. */
  readonly peakDeviceBytes: number
  readonly predictedPeakBytes: number
  /** Where validation was asked for. */
  readonly validations?: readonly Validation[]
  readonly best?: Best
}

const codec = optionsOf<TrainOptions>(
  'train',
  { ...modelCodec, data: dataCodec },
  {
    ...setupCodecs,
    ...optimizerCodecs,
    ...watchingCodecs,
    steps: whole(1, mostSteps),
    epochs: positive,
    lr: positive,
    schedule: scheduleCodec,
    warmup: whole(0, mostSteps),
    crop: extents(2),
    flip: flag,
    rotate: flag,
    colourJitter: colourJitterCodec,
    classWeights: classWeightsCodec,
    validation: validationCodec,
    validateEvery: whole(1),
    best: path,
    bestBy: oneOf('loss', 'accuracy', 'auc', 'iou'),
    earlyStop: whole(1),
    metrics: path,
    weights: path,
    save: path,
    state: path,
    stateEvery: whole(1),
    resume: flag,
    checkData: flag,
    onCheck: callback(),
    onPlan: callback(),
    onStep: callback(),
    onValidation: callback(),
    onNotice: callback()
  }
)

const directOf = (options: TrainOptions): Direct =>
  Object.fromEntries(direct.flatMap((name) => (options[name] === undefined ? [] : [[name, options[name]]])))

const reportOf = ({ steps, loss, stepMs, peakDeviceBytes, predictedPeakBytes, best, validations }: Trained): TrainReport => ({
  steps,
  loss,
  stepMs,
  peakDeviceBytes,
  predictedPeakBytes,
  ...(validations.length === 0 ? {} : { validations, ...present({ best }) })
})

const datasetOf = (data: string | Dataset, option: string, signal: AbortSignal | undefined): Outcome<Dataset> =>
  typeof data === 'string' ? readDataset(data, option, signal) : TE.right(data)

const validationOf = ({ validation, signal }: TrainOptions): Outcome<Dataset | number | undefined> => {
  if (validation === undefined || typeof validation === 'number') return TE.right(validation)
  const share = typeof validation === 'string' ? parseFraction(validation) : undefined
  return share === undefined ? datasetOf(validation, '--validation', signal) : TE.right(share)
}

/** Weights may go on in the file that they came from: it is read before the first step, and replaced whole in the end. */
const checkFiles = (options: TrainOptions): Outcome<void> => {
  const { data, validation, weights, signal } = options
  const reads = [...setupReads(options), ...named('--data', data), ...named('--validation', validation)]
  return pipe(
    TE.fromTask(() => writtenBy(options)),
    TE.chainFirst((writes) => checkPaths({ reads, writes }, signal)),
    TE.chain((writes) => checkPaths({ reads: named('--weights', weights), writes: writes.filter(({ name }) => name !== '--save') }, signal))
  )
}

/**
 * Plans and trains: mean softmax cross-entropy over random crops of labelled images, or of pixels with masks. The same options and seed give the same bits on
 * the same machine, whether the training ran through or was resumed. Fails with code `input`, `budget` (does not fit), `loss` (not
 * finite) or `interrupted` (by `signal`).
 */
export const train = answering(codec, (options): Outcome<TrainReport> =>
  pipe(
    TE.Do,
    TE.bind('objective', () => TE.fromEither(objectiveOf(options))),
    TE.chainFirstEitherK(() => checkOptions(options)),
    TE.bind('schedule', () => TE.fromEither(orTextIfPresent('schedule', options.schedule, parseSchedule))),
    TE.bind('colourJitter', () => TE.fromEither(orTextIfPresent('colourJitter', options.colourJitter, parseColourJitter))),
    TE.bind('classWeights', () => TE.fromEither(orTextIfPresent<ClassWeights>('classWeights', options.classWeights, parseClassWeights))),
    TE.chainFirst(() => checkFiles(options)),
    TE.bind('dataset', () => datasetOf(options.data, '--data', options.signal)),
    TE.bind('validation', () => validationOf(options)),
    TE.bind('setup', ({ dataset }) => TE.fromEither(E.chain(runnable)(setupOf(options, dataset.classes)))),
    TE.chain(({ objective, schedule, setup, dataset, ...parsed }) => {
      const { lr, seed, flip, onNotice } = options
      return runTraining({
        ...setup,
        ...objective,
        dataset,
        ...present(parsed),
        learningRate: lr ?? defaultLearningRate(objective.optimizer.kind),
        schedule: schedule ?? { kind: 'constant' },
        seed: seed ?? 0,
        flip: flip ?? false,
        ...directOf(options),
        ...(onNotice && { onNotice: (sentence) => onNotice(printable(sentence)) })
      })
    }),
    TE.map(reportOf)
  )
)
