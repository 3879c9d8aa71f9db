import * as E from 'fp-ts/Either'
import { type StrategyName, strategyNames } from '../../dsl'
import { formatValue } from '../../staging/decoding/decode'
import { inputFailure } from '../failure'
import type { Planned } from '../plans/plan-network'
import { callback, decoderCodec, listOf, failureCodec, oneOf as oneOfCodec, text as textCodec } from '../options/codecs'
import { type GivenSize, commaList, flag, notAChoice, oneOf, path, size, whole, textKind } from '../options/kinds'
import { maxBudgets, maxClasses, maxSteps } from '../options/limits'
import { type Kind, type OptionsOf, withDefault, fromJavaScript, optional, optionalArgument, required } from '../options/option'
import { classNames } from './data-options'
import { resolutionOptions } from './image-options'
import { type HeatMapKind, type ResultFormat, heatMapKinds, resultFormats } from '../results/formats'
import { type ProbabilityType, probabilityTypes } from '../results/probability-map'
import { optimizerOptions } from './optimizer-options'
import {
  type BudgetOptions,
  type ModelOptions,
  budgetOptions,
  loss,
  measureOption,
  modelOptions,
  planningOptions,
  rankOptions,
  reportOption,
  runTraceOption,
  seedOption,
  setupOptions,
  watchingOptions
} from './setup-options'
import { type Size, parseSize } from '../options/sizes'

const planWatching = {
  /** Called once with the plan, before anything runs. */
  onPlan: fromJavaScript(callback<(planned: Planned) => void>())
}

const noticeOption = {
  /** Called with one sentence that the user should see. */
  onNotice: fromJavaScript(callback<(sentence: string) => void>())
}

/** The options of the command and the library function `plan`, as a table. */
export const planOptions = {
  ...setupOptions,
  ...rankOptions,
  ...measureOption,
  ...optimizerOptions,
  ...watchingOptions,
  /**
   * True if the forward pass of `predict` is planned in place of a training step; its file is
   * *.json.
   */
  evaluate: withDefault(flag, 'plan the forward pass of predict instead', false),
  /** Path of the plan to write: *.plan.ts, which the compiler checks, or *.json. */
  out: optional(path('file'), 'write the plan: *.plan.ts, which the compiler checks, or *.json'),
  /** Path of the plan's Program to write, as text: what runs, in order, on which buffers. */
  program: optional(path('file'), 'write what the plan runs, as text'),
  /** Path of the predicted step to write as trace events: *.json, which Perfetto opens. */
  trace: optional(path('file'), 'write the predicted step as trace events, JSON, which ui.perfetto.dev opens'),
  ...reportOption
}

/** What the library function `plan` takes. */
export interface PlanOptions extends OptionsOf<typeof planOptions>, BudgetOptions {}

/** The options of the command and the library function `explain`, as a table. */
export const explainOptions = {
  ...setupOptions,
  ...rankOptions,
  ...measureOption,
  ...optimizerOptions,
  ...watchingOptions,
  ...reportOption
}

/** What the library function `explain` takes. */
export interface ExplainOptions extends OptionsOf<typeof explainOptions>, BudgetOptions {}

const budgets: Kind<readonly GivenSize[], readonly Size[]> = commaList<GivenSize, Size>(
  'sizes',
  listOf(size.codec, 1, maxBudgets),
  parseSize,
  maxBudgets
)

/** Checked as one, so that the sentence names the strategy. */
const strategyList = decoderCodec('a list of strategies', (value): E.Either<string, readonly StrategyName[]> => {
  if (!Array.isArray(value) || value.length === 0) return E.left(`give a list of strategies, some of ${strategyNames.join(', ')}`)
  const unknown: unknown = value.find((name) => !strategyNames.includes(name))
  return unknown === undefined
    ? E.right(value)
    : E.left(
        `there is no strategy ${typeof unknown === 'string' ? unknown : formatValue(unknown)}; take some of ${strategyNames.join(', ')}`
      )
})

const strategies = commaList<StrategyName, StrategyName>(
  'names',
  strategyList,
  (text) => E.fromNullable(notAChoice(strategyNames))(strategyNames.find((name) => name === text)),
  maxBudgets
)

/** The options of the command and the library function `compare`, as a table. */
export const compareOptions = {
  ...modelOptions,
  ...planningOptions,
  ...rankOptions,
  ...optimizerOptions,
  /** Sizes as `budget` has them elsewhere: '20%', '1GiB', bytes. */
  budgets: required(budgets, 'sizes as of --budget, such as 10%,20%,1GiB'),
  /** The strategies to compare; all where absent. */
  strategies: withDefault(strategies, `some of ${strategyNames.join(',')}`, strategyNames, { otherwise: 'all' }),
  /** Kernels are measured, where they are, of the plan without a budget. */
  ...measureOption,
  ...reportOption,
  ...watchingOptions
}

/** What the library function `compare` takes. */
export interface CompareOptions extends OptionsOf<typeof compareOptions>, ModelOptions {}

/** The options of the command and the library function `gradients`, as a table. */
export const gradientsOptions = {
  ...setupOptions,
  ...measureOption,
  ...watchingOptions,
  /** A safetensors file of the parameters. */
  weights: required(path('file'), 'safetensors, a file of torch.save, or hf:owner/name[@revision][/file], of the parameters'),
  /** A safetensors file of `input` [B, C, H, W] and `target` [B], or [B, H, W]. */
  batch: required(path('file'), 'safetensors of input [B, C, H, W] and target [B], or [B, H, W]'),
  /** The safetensors file to write. */
  out: required(path('file'), 'safetensors to write'),
  ...planWatching,
  ...noticeOption
}

/** What the library function `gradients` takes. */
export interface GradientsOptions extends OptionsOf<typeof gradientsOptions>, BudgetOptions {}

const noInput: Kind<never> = textKind(
  'BxCxHxW',
  failureCodec<never>('nothing', () => E.left(inputFailure('--input: predict takes the whole image as it is; leave it out'))),
  () => E.left('predict takes the whole image as it is; leave it out')
)

const { input: _, loss: __, ...modelWithoutInput } = modelOptions

const formats: Kind<readonly ResultFormat[]> = commaList<ResultFormat, ResultFormat>(
  'names',
  listOf(oneOfCodec(...resultFormats), 1, resultFormats.length),
  (text) => E.fromNullable(notAChoice(resultFormats))(resultFormats.find((name) => name === text)),
  resultFormats.length
)

/** What is known of an image once it is predicted. */
export interface ImagePrediction {
  readonly path: string
  readonly height: number
  readonly width: number
  readonly milliseconds: number
  /** Scores of a model that scores images: one a class, before softmax or sigmoid. */
  readonly scores?: readonly number[]
  /** Of classes that exclude each other: the index of the highest score. */
  readonly class?: number
  /** Of a model trained by a binary loss: each class whose probability is over 1/2. */
  readonly classes?: readonly number[]
  /** Of a model trained by a loss of values: these. */
  readonly values?: readonly number[]
  /** Number of pixels of each class, of a model that scores pixels. */
  readonly pixels?: readonly number[]
  /** The files that were written of it. */
  readonly files?: readonly string[]
}

/** The options of the command and the library function `predict`, as a table. */
export const predictOptions = {
  ...modelWithoutInput,
  /** The image's size is the input. */
  input: optional(noInput, '', { isHidden: true }),
  ...planningOptions,
  ...budgetOptions,
  /** Nothing is drawn. */
  seed: { ...seedOption.seed, isHidden: true as const },
  ...measureOption,
  ...watchingOptions,
  /** A safetensors file of the parameters and running statistics. */
  weights: required(
    path('file'),
    'safetensors, a file of torch.save, or hf:owner/name[@revision][/file], of the parameters and running statistics'
  ),
  /**
   * The loss that the weights were trained by, where neither the model nor they say: of a binary
   * one each class is predicted by itself, of one of values these are.
   */
  loss: optional(loss, 'the loss that the weights were trained by, where neither the model nor they say it', {
    otherwise: 'what the weights say, or cross-entropy'
  }),
  /** Path of an image, of any size that the model takes. */
  image: optional(path('file'), 'PNG, JPEG, TIFF, WebP or a slide; its size is the input', { conflicts: ['data'] }),
  /** Instead of `image`: a folder of images, or a CSV file with a column `path`. */
  data: optional(path('path'), 'instead of --image: a folder of images, or a CSV with a column path', { conflicts: ['image'] }),
  ...resolutionOptions,
  /**
   * Where classes of pixels go: *.tif (a pyramid), *.png or *.geojson (polygons); with `data` a
   * folder. Of a model that scores images, with `data`: *.csv.
   */
  out: optional(
    path('path'),
    'of a model that scores pixels, the mask to write: *.tif (a pyramid), *.png or *.geojson; with --data the folder of the masks, or of scores the *.csv'
  ),
  /** With `data`: what masks are written as; ['tif'] where absent. */
  formats: optional(formats, `with --data, what masks are written as: some of ${resultFormats.join(',')}`, { otherwise: 'tif' }),
  /** Names of the classes in order, as of `train`, for scores and polygons. */
  classNames: optional(classNames(maxClasses), 'names of the classes in order, as of train', { otherwise: 'their numbers' }),
  /** Whether a *.tif has the colours of the classes beside them; 8-bit grey where not. */
  palette: withDefault(flag, 'give the classes colours in a *.tif; else it is 8-bit grey', false),
  /** The name or number of a class of which a *.geojson has no polygons. */
  background: optional(textKind('class', textCodec, E.right), 'name or number of a class of which a *.geojson has no polygons', {
    otherwise: 'none'
  }),
  /** Instead of the classes of pixels their probabilities are written, a band each of a *.tif. */
  probabilities: optional(
    oneOf<ProbabilityType>('type', probabilityTypes),
    'of a model that scores pixels, write to *.tif the probabilities of the classes, a band each: from 0 to 1, or in uint8 from 0 to 255',
    { conflicts: ['heatmap', 'palette', 'background'] }
  ),
  /** A heat map of `class` to write to `out` over the image, *.tif (a pyramid) or *.png. */
  heatmap: optional(
    oneOf<HeatMapKind>('kind', heatMapKinds),
    'write to --out, *.tif (a pyramid) or *.png, where in the image --class is seen: class activation, or the gradient by pixels',
    { conflicts: ['data', 'skipBad'] }
  ),
  /** The class of the heat map, by its name in `classNames` or its number. */
  class: optional(textKind('class', textCodec, E.right), 'name or number of the class of --heatmap'),
  /** Whether an image that cannot be read or predicted is left out, and counted. */
  skipBad: withDefault(flag, 'leave out images that cannot be read or predicted, and count them', false),
  ...planWatching,
  ...noticeOption,
  /** Called after each image. */
  onImage: fromJavaScript(callback<(prediction: ImagePrediction) => void>())
}

/** What the library function `predict` takes. */
export interface PredictOptions extends OptionsOf<typeof predictOptions>, BudgetOptions {}

/** The report that `bench` makes of each of its steps, the first of which is 0. */
export interface BenchStep {
  readonly step: number
  readonly steps: number
  readonly milliseconds: number
}

/** The options of the command and the library function `bench`, as a table. */
export const benchOptions = {
  ...setupOptions,
  ...measureOption,
  ...optimizerOptions,
  ...watchingOptions,
  /** Number of steps, each an update of the weights. */
  steps: withDefault(whole(1, maxSteps), 'how many steps', 3),
  /** Measures where the time of the fastest step went, kernel by kernel. */
  breakdown: withDefault(flag, 'show where the time of the fastest step went, by kernel', false),
  ...reportOption,
  ...runTraceOption,
  ...planWatching,
  ...noticeOption,
  /** Called after each step. */
  onStep: fromJavaScript(callback<(report: BenchStep) => void>())
}

/** What the library function `bench` takes. */
export interface BenchOptions extends OptionsOf<typeof benchOptions>, BudgetOptions {}

/** The options of the command and the library function `profile`, as a table. */
export const profileOptions = {
  ...setupOptions,
  /** A model, or the name or path of one; left out with `network`. */
  model: optionalArgument(setupOptions.model),
  ...optimizerOptions,
  ...watchingOptions,
  /**
   * Measures the network between the ranks that a launcher of MPI started, in place of a model's
   * kernels, and keeps it for plans for ranks.
   */
  network: optional(flag, 'under mpirun, in place of a model: measure the network between the ranks, for plans for ranks'),
  /** Forgets all times that were kept of this device, library and number of threads. */
  again: withDefault(flag, 'forget all that was measured with as many threads before, and measure anew', false),
  /**
   * Path of the device file (*.json) of this machine's GPU to write, from which these plans are
   * made on any machine.
   */
  out: optional(path('file'), 'of cuda: a *.json file of this GPU, from which the same plans are made on any machine by --device')
}

/** What the library function `profile` takes. */
export interface ProfileOptions extends Omit<OptionsOf<typeof profileOptions>, 'model' | 'network'>, BudgetOptions {
  readonly model: ModelOptions['model']
}
