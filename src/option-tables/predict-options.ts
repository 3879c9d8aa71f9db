import * as E from 'fp-ts/Either'
import { oneOfCodec } from '../../staging/decoding/predicate-codec'
import { inputFailure } from '../failure'
import { boundedListCodec, callbackCodec, failureCodec, textCodec } from '../options/codecs'
import { flag, nameList, oneOf, path, textKind } from '../options/kinds'
import { maxClasses } from '../options/limits'
import { type Kind, type OptionsOf, fromJavaScript, optional, required, withDefault } from '../options/option'
import { type HeatMapKind, type ProbabilityType, heatMapKinds, probabilityTypes, resultFormats } from '../results/formats'
import type { PredictedScores } from '../results/scores-csv'
import { classNames } from './data-options'
import { resolutionOptions } from './image-options'
import {
  type BudgetOptions,
  budgetOptions,
  loss,
  measureOption,
  modelOptions,
  planWatching,
  planningOptions,
  seedOption,
  watchingOptions
} from './setup-options'

const noInput: Kind<never> = textKind(
  'BxCxHxW',
  failureCodec<never>('nothing', () => E.left(inputFailure('--input: predict takes the whole image as it is; leave it out'))),
  () => E.left('predict takes the whole image as it is; leave it out')
)

const { input: _, loss: __, ...modelWithoutInput } = modelOptions

const formats = nameList(resultFormats, boundedListCodec(oneOfCodec(...resultFormats), 1, resultFormats.length))

/** What is known of an image once it is predicted. */
export interface ImagePrediction extends PredictedScores {
  readonly height: number
  readonly width: number
  readonly milliseconds: number
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
    'of a model that scores pixels, the mask to write: *.tif (a pyramid), *.png or *.geojson, with --data the folder of the masks; of scores a *.csv'
  ),
  /** With `data`: what masks are written as; ['tif'] where absent. */
  formats: optional(formats, `with --data, what masks are written as: some of ${resultFormats.join(',')}`, {
    otherwise: 'tif',
    needs: ['data', 'out']
  }),
  /** Names of the classes in order, as of `train`, for scores and polygons. */
  classNames: optional(classNames(maxClasses), 'names of the classes in order, as of train', {
    otherwise: 'as the weights say, or numbers'
  }),
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
    { conflicts: ['data', 'skipBad', 'palette', 'background'] }
  ),
  /** The class of the heat map, by its name in `classNames` or its number. */
  class: optional(textKind('class', textCodec, E.right), 'name or number of the class of --heatmap', { needs: ['heatmap'] }),
  /** Whether an image that cannot be read or predicted is left out, and counted. */
  skipBad: withDefault(flag, 'leave out images that cannot be read or predicted, and count them', false),
  ...planWatching,
  /** Called after each image of several: `done` of the `total` that this process predicts. */
  onPredicting: fromJavaScript(callbackCodec<(done: number, total: number) => void>()),
  /** Called after each image. */
  onImage: fromJavaScript(callbackCodec<(prediction: ImagePrediction) => void>())
}

/** Options of the library function `predict`. */
export interface PredictOptions extends OptionsOf<typeof predictOptions>, BudgetOptions {}
