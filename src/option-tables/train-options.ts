import * as E from 'fp-ts/Either'
import { identity } from 'fp-ts/function'
import type * as t from 'io-ts'
import { strictObject } from '../../staging/decoding/strict-object'
import { predicateCodec, oneOfCodec } from '../../staging/decoding/predicate-codec'
import type { Dataset } from '../datasets/dataset'
import type * as DatasetCodec from '../datasets/dataset-codec'
import type { Planned } from '../plans/plan-network'
import { type HeatMapKind, heatMapKinds } from '../results/formats'
import { type ColourJitter, parseColourJitter } from '../training/batches/augmentation'
import { type BestBy, type Validation, bestMeasures } from '../training/validation/best'
import { type ClassWeights, parseClassWeights } from '../options/class-weights'
import { type StainJitter, parseStainJitter } from '../training/batches/stain-jitter'
import { type LearningRateSchedule, parseSchedule } from '../training/learning-rate'
import type { StepReport } from '../training/step-report'
import { type ValidateOn, validateOns } from '../training/validation/validate-on'
import type { StartingWeights } from '../weights/weights'
import { byKindCodec, callbackCodec, lazyCodec, fromZeroCodec, boundedListCodec, positiveCodec, wholeNumberCodec } from '../options/codecs'
import { extents, flag, flagOrWhole, oneOf, path, positive, prefixes, readAs, textOrValue, whole, textKind } from '../options/kinds'
import { maxSteps } from '../options/limits'
import { type DecodedOptions, type Kind, type OptionsOf, withDefault, fromJavaScript, optional, required } from '../options/option'
import { dataOptions } from './data-options'
import { resolutionOptions } from './image-options'
import { optimizerOptions } from './optimizer-options'
import {
  type BudgetOptions,
  measureOption,
  networkOption,
  shardOptimizerOption,
  reportOption,
  runTraceOption,
  setupOptions,
  watchingOptions
} from './setup-options'

type KindOfSchedule<K extends LearningRateSchedule['kind']> = Extract<LearningRateSchedule, { readonly kind: K }>

const schedules = byKindCodec<LearningRateSchedule>('a schedule', {
  constant: strictObject<KindOfSchedule<'constant'>>('a schedule', 'field', { kind: oneOfCodec('constant') }, {}),
  cosine: strictObject<KindOfSchedule<'cosine'>>('a schedule', 'field', { kind: oneOfCodec('cosine') }, {}),
  step: strictObject<KindOfSchedule<'step'>>(
    'a schedule',
    'field',
    { kind: oneOfCodec('step'), every: wholeNumberCodec(1), factor: positiveCodec },
    {}
  )
})

const within = (most: number): t.Type<number> =>
  predicateCodec(`a number from 0 to ${most}`, (value) => typeof value === 'number' && value >= 0 && value <= most)

const jitters = strictObject<ColourJitter>(
  'a colour jitter',
  'field',
  { brightness: within(1), contrast: within(1), saturation: within(1), hue: within(0.5) },
  {}
)

const httpAddressCodec = predicateCodec<string>('an address that begins with http:// or https://', (value) => {
  const isUrl = typeof value === 'string' && URL.canParse(value)
  return isUrl && ['http:', 'https:'].includes(new URL(value).protocol)
})
const httpAddress: Kind<string> = textKind('url', httpAddressCodec, readAs(httpAddressCodec, identity))

const stainJitters = strictObject<StainJitter>('a stain jitter', 'field', { scale: within(1), shift: within(1) }, {})

const datasets = (): typeof DatasetCodec => require('../datasets/dataset-codec') as typeof DatasetCodec

const data: Kind<Dataset | string> = textKind(
  'path',
  lazyCodec('a path, or what readDataset gives', () => datasets().dataCodec),
  E.right
)

const validation: Kind<Dataset | string | number> = textKind(
  'path|share',
  lazyCodec('a path, a share above 0 and below 1, or a dataset', () => datasets().validationCodec),
  E.right
)

/** Every option of `train`: named as on the command line. */
export const trainOptions = {
  ...setupOptions,
  ...measureOption,
  ...optimizerOptions,
  /**
   * A folder with one folder of images a class, or with one of images and one of masks, a CSV file,
   * or what `readDataset` made of either.
   */
  data: required(
    data,
    'a CSV file (docs/labels.md), a folder with one folder of images a class, or one with a folder of images and one of masks'
  ),
  ...dataOptions,
  /** Whether every image is read whole and decoded before anything is planned. */
  checkData: withDefault(flag, 'read every image whole before anything else, to find those that are damaged', false),
  /**
   * Whether rows whose image or mask cannot be opened are left out of the data, a crop that cannot
   * be read is drawn anew somewhere else, and its image left out of the validation; they are
   * counted.
   */
  skipBad: withDefault(
    flag,
    'leave out images and masks that cannot be opened, draw a crop that cannot be read anew somewhere else, and count them',
    false
  ),
  /**
   * Whether ranks share the rows of each image, or groups of how many do; the groups share the
   * micro-batches of an update.
   */
  shardRows: withDefault(
    flagOrWhole,
    'all ranks share the rows of each image, or groups of so many, which share the micro-batches (docs/ranks.md)',
    false
  ),
  /**
   * Whether ranks share the images of each micro-batch, or groups into how many parts; with
   * `shardRows` each part is of as many ranks.
   */
  shardImages: withDefault(
    flagOrWhole,
    'all ranks share the images of each micro-batch, or groups in so many parts (docs/ranks.md)',
    false
  ),
  ...shardOptimizerOption,
  ...networkOption,
  /** Updates of the weights. */
  steps: optional(whole(1, maxSteps), 'how many steps'),
  /** Instead of steps: times through the data; 1 where both are absent. */
  epochs: optional(positive, 'how many times through the data', { otherwise: '1' }),
  /** Learning rate; of sgd 0.01, of adam and adamw 0.001 where absent. */
  lr: optional(positive, 'learning rate', { otherwise: 'sgd 0.01, adam and adamw 0.001' }),
  /** A schedule of the learning rate, or its text: 'constant', 'cosine', 'step:EVERY:FACTOR'. */
  schedule: withDefault(
    textOrValue<LearningRateSchedule>('name', 'a schedule, or its text', parseSchedule, schedules),
    'constant, cosine, or step:EVERY:FACTOR',
    { kind: 'constant' },
    { otherwise: 'constant' }
  ),
  /** Steps over which the learning rate rises, before the schedule begins. */
  warmup: withDefault(whole(0, maxSteps), 'steps over which the learning rate rises before the schedule begins', 0),
  /** [H, W] of random crops; the input's where absent. */
  crop: optional(extents(2, 'HxW', '512x512'), 'random crops of this size; smaller images are enlarged', {
    otherwise: 'of the input size'
  }),
  ...resolutionOptions,
  /** Whether the middles of crops are in tissue. */
  tissue: withDefault(flag, 'draw crops whose middles are in tissue, by saturation (docs/labels.md)', false),
  /** Whether the middles of crops are where pixels of their masks count. */
  annotated: withDefault(flag, 'draw crops whose middles are where pixels of their masks count', false),
  /** Whether each class is drawn as often. */
  balanced: withDefault(flag, 'draw each class as often: images of it, or crops whose middles are near pixels of it', false),
  /** Random horizontal and vertical flips, beside the random crops. */
  flip: withDefault(flag, 'random horizontal and vertical flips', false),
  /** Random turns by 90, 180 and 270 degrees. */
  rotate: withDefault(flag, 'random turns by 90, 180 and 270 degrees', false),
  /** A jitter, or its text 'brightness,contrast,saturation,hue'. */
  colourJitter: optional(
    textOrValue<ColourJitter>('b,c,s,h', 'a colour jitter, or its text', parseColourJitter, jitters),
    'random brightness, contrast, saturation (factors 1-x to 1+x) and hue (turns from -h to h, linear in YIQ)'
  ),
  /** A jitter of stains, or its text 'scale,shift'. */
  stainJitter: optional(
    textOrValue<StainJitter>('scale,shift', 'a stain jitter, or its text', parseStainJitter, stainJitters),
    'random amounts of haematoxylin, eosin and DAB: factors 1-scale to 1+scale, and shifts of their optical density, such as 0.05,0.05'
  ),
  /** 'balanced', one number a class, or their text '1,2.5'. */
  classWeights: optional(
    textOrValue<ClassWeights>('list', 'balanced, one number a class, or their text', parseClassWeights, boundedListCodec(fromZeroCodec)),
    'balanced (by images, or pixels), or one number a class, such as 1,2.5'
  ),
  /** Images like `data`, or the share of the data (above 0, below 1) that is set aside for it. */
  validation: optional(
    validation,
    'images like --data, or a share of its own such as 0.2, drawn by class from the seed; of those with masks all pixels count, of others the middle crop'
  ),
  /** All of each image, or the crop in its middle; of images with masks. */
  validateOn: optional(
    oneOf<ValidateOn>('what', validateOns),
    'what of an image with a mask is validated: all of it, or the crop in its middle',
    { otherwise: 'image, or crop where that cannot be', needs: ['validation'] }
  ),
  /** A CSV file of the measures of each image with a mask, as of the latest validation. */
  perImage: optional(path('file'), 'CSV to write with the measures of each validated image with a mask, as of the latest validation', {
    needs: ['validation']
  }),
  /**
   * Steps between validations; an epoch's where absent. The last step is always followed by one.
   */
  validateEvery: optional(whole(1), 'steps between validations', { otherwise: 'an epoch', needs: ['validation'] }),
  /** Path of the safetensors file to write with the weights of the best validation. */
  best: optional(path('file'), 'safetensors to write the weights of the best validation to', { needs: ['validation'] }),
  /**
   * Lowest `loss` (where absent), highest `accuracy`, `auc` or `kappa`, of masks `iou` or `dice`,
   * of sets of labels `f1`, of values `r2` or lowest `mae`.
   */
  bestBy: optional(oneOf<BestBy>('measure', bestMeasures), 'what is best', { otherwise: 'loss', needs: ['validation'] }),
  /** Stops after that many validations in a row without a better one. */
  earlyStop: optional(whole(1), 'stop after so many validations in a row without a better one', { needs: ['validation'] }),
  /** A JSON-lines file: an object a step and a validation. */
  metrics: optional(path('file'), 'JSON lines to write: an object a step and a validation'),
  ...reportOption,
  /** Heat maps over the validated crops of the report, of the class that is predicted. */
  heatmap: optional(
    oneOf<HeatMapKind>('kind', heatMapKinds),
    "with --report, show over the validated crops what speaks for the class that is predicted, by --save's weights",
    { needs: ['validation', 'report', 'save'] }
  ),
  ...runTraceOption,
  /** A folder of event files that TensorBoard shows: scalars, the graph and hyper-parameters. */
  tensorboard: optional(path('folder'), 'write event files to it, which TensorBoard shows: scalars, the graph, hyper-parameters'),
  /** The address of an MLflow server that is told of the training: 'http://127.0.0.1:5000'. */
  mlflow: optional(httpAddress, 'tell this MLflow server of it, such as http://127.0.0.1:5000'),
  /** A port of 127.0.0.1 on which the report is served while the training runs; 0 is any. */
  live: optional(whole(0, 65_535), 'serve the report on this port of 127.0.0.1 while it runs; 0 is any that is free'),
  /**
   * A safetensors file, one of torch.save, or `hf:owner/name[@revision][/file]` of Hugging Face's
   * hub, to start from; drawn from the seed where absent.
   */
  weights: optional(path('file'), 'safetensors, a file of torch.save, or hf:owner/name[@revision][/file], to start from', {
    otherwise: 'drawn from the seed'
  }),
  /**
   * Whether the last layer's weights are drawn anew: those in `weights` may be of other classes.
   */
  newHead: withDefault(flag, 'draw the last layer anew: --weights may be of another number of classes', false, { needs: ['weights'] }),
  /** Parameters that are drawn anew though `weights` may hold them, by prefixes of their names. */
  reset: optional(prefixes, 'parameters to draw anew, or to leave in --weights, by prefix of their names; may be given again', {
    needs: ['weights']
  }),
  /** Path of the safetensors file to write with the weights in the end. */
  save: optional(path('file'), 'safetensors to write in the end'),
  /** A folder that keeps what is needed to go on after a crash. */
  state: optional(path('folder'), 'keep in it what is needed to go on after a crash'),
  /** Steps between states; an epoch's, or 100 where that is less, where absent. */
  stateEvery: optional(whole(1), 'steps between states', { otherwise: 'an epoch, at most 100', needs: ['state'] }),
  /** Goes on from the newest state in the folder, or starts where it holds none. */
  resume: withDefault(flag, 'go on from the newest state, with the same bits as if nothing had happened', false, { needs: ['state'] }),
  /** Called while images are read whole: `done` of them, of `total`. */
  onCheck: fromJavaScript(callbackCodec<(done: number, total: number) => void>()),
  /** Called once with the plan, before the first step. */
  onPlan: fromJavaScript(callbackCodec<(planned: Planned) => void>()),
  /** Called once with what came from `weights` and what did not, before the first step. */
  onWeights: fromJavaScript(callbackCodec<(weights: StartingWeights) => void>()),
  /** Called after each complete step. */
  onStep: fromJavaScript(callbackCodec<(report: StepReport) => void>()),
  /** Called while a validation runs: `done` of `total` images, of whole images of their windows. */
  onValidating: fromJavaScript(callbackCodec<(done: number, total: number) => void>()),
  /** Called after each validation. */
  onValidation: fromJavaScript(callbackCodec<(validation: Validation) => void>()),
  ...watchingOptions
}

/**
 * The options of `train`: what is trained on what, where and how long, and where the results go.
 */
export interface TrainOptions extends OptionsOf<typeof trainOptions>, BudgetOptions {}

/** The options of a training, decoded, and filled in where one is left out. */
export interface DecodedTrainOptions extends DecodedOptions<typeof trainOptions> {}
