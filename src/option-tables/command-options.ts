import * as E from 'fp-ts/Either'
import { type StrategyName, strategyNames } from '../../dsl'
import { formatValue } from '../../staging/decoding/decode'
import { inputFailure } from '../failure'
import type { Planned } from '../plans/plan-network'
import { callback, decoderCodec, listOf, failureCodec } from '../options/codecs'
import { type GivenSize, commaList, flag, notAChoice, path, size, whole, textKind } from '../options/kinds'
import { maxBudgets, maxSteps } from '../options/limits'
import { type Kind, type OptionsOf, withDefault, fromJavaScript, optional, required } from '../options/option'
import { resolutionOptions } from './image-options'
import { optimizerOptions } from './optimizer-options'
import {
  type BudgetOptions,
  type ModelOptions,
  budgetOptions,
  measureOption,
  modelOptions,
  planningOptions,
  reportOption,
  seedOption,
  setupOptions,
  signalOption,
  watchingOptions
} from './setup-options'
import { type Size, parseSize } from '../options/sizes'

const planWatching = {
  /** Called once with the plan, before anything runs. */
  onPlan: fromJavaScript(callback<(planned: Planned) => void>())
}

export const planOptions = {
  ...setupOptions,
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

export interface PlanOptions extends OptionsOf<typeof planOptions>, BudgetOptions {}

export const explainOptions = { ...setupOptions, ...measureOption, ...optimizerOptions, ...watchingOptions, ...reportOption }

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

export const compareOptions = {
  ...modelOptions,
  ...planningOptions,
  ...optimizerOptions,
  /** Sizes as `budget` has them elsewhere: '20%', '1GiB', bytes. */
  budgets: required(budgets, 'sizes as of --budget, such as 10%,20%,1GiB'),
  /** The strategies to compare; all where absent. */
  strategies: withDefault(strategies, `some of ${strategyNames.join(',')}`, strategyNames, { otherwise: 'all' }),
  ...reportOption,
  ...signalOption
}

export interface CompareOptions extends OptionsOf<typeof compareOptions>, ModelOptions {}

export const gradientsOptions = {
  ...setupOptions,
  ...measureOption,
  ...watchingOptions,
  /** A safetensors file of the parameters. */
  weights: required(path('file'), 'safetensors of the parameters'),
  /** A safetensors file of `input` [B, C, H, W] and `target` [B], or [B, H, W]. */
  batch: required(path('file'), 'safetensors of input [B, C, H, W] and target [B], or [B, H, W]'),
  /** The safetensors file to write. */
  out: required(path('file'), 'safetensors to write'),
  ...planWatching
}

export interface GradientsOptions extends OptionsOf<typeof gradientsOptions>, BudgetOptions {}

const noInput: Kind<never> = textKind(
  'BxCxHxW',
  failureCodec<never>('nothing', () => E.left(inputFailure('--input: predict takes the whole image as it is; leave it out'))),
  () => E.left('predict takes the whole image as it is; leave it out')
)

const { input: _, loss: __, ...modelWithoutInput } = modelOptions

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
  weights: required(path('file'), 'safetensors of the parameters and running statistics'),
  /** Path of an image, of any size that the model takes. */
  image: required(path('file'), 'PNG, JPEG, TIFF or WebP; its size is the input'),
  ...resolutionOptions,
  /** Where classes of pixels go: *.tif or *.png, 8-bit grey. */
  out: optional(path('file'), 'of a model that scores pixels, the mask to write: *.tif (in tiles) or *.png, 8-bit grey'),
  ...planWatching,
  /** Called with one sentence that the user should see. */
  onNotice: fromJavaScript(callback<(sentence: string) => void>())
}

export interface PredictOptions extends OptionsOf<typeof predictOptions>, BudgetOptions {}

/** The report that `bench` makes of each of its steps, the first of which is 0. */
export interface BenchStep {
  readonly step: number
  readonly steps: number
  readonly milliseconds: number
}

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
  ...planWatching,
  /** Called after each step. */
  onStep: fromJavaScript(callback<(report: BenchStep) => void>())
}

export interface BenchOptions extends OptionsOf<typeof benchOptions>, BudgetOptions {}

export const profileOptions = {
  ...setupOptions,
  ...optimizerOptions,
  ...watchingOptions,
  /**
   * Path of the device file (*.json) of this machine's GPU to write, from which these plans are
   * made on any machine.
   */
  out: optional(path('file'), 'of cuda: a *.json file of this GPU, from which the same plans are made on any machine by --device')
}

export interface ProfileOptions extends OptionsOf<typeof profileOptions>, BudgetOptions {}
