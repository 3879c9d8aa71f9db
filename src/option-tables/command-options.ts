import * as E from 'fp-ts/Either'
import { type StrategyName, strategyNames } from '../../dsl'
import { formatValue } from '../../staging/decoding/decode'
import { callbackCodec, decoderCodec, boundedListCodec } from '../options/codecs'
import { type GivenSize, commaList, flag, nameList, path, size, whole } from '../options/kinds'
import { maxBudgets, maxSteps } from '../options/limits'
import { type Kind, type OptionsOf, withDefault, fromJavaScript, optional, optionalArgument, required } from '../options/option'
import { optimizerOptions } from './optimizer-options'
import {
  type BudgetOptions,
  type ModelOptions,
  measureOption,
  modelOptions,
  planWatching,
  planningOptions,
  rankOptions,
  reportOption,
  runTraceOption,
  setupOptions,
  watchingOptions
} from './setup-options'
import { type Size, parseSize } from '../options/sizes'

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

/** Options of the library function `plan`. */
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

/** Options of the library function `explain`. */
export interface ExplainOptions extends OptionsOf<typeof explainOptions>, BudgetOptions {}

const budgets: Kind<readonly GivenSize[], readonly Size[]> = commaList<GivenSize, Size>(
  'sizes',
  boundedListCodec(size.codec, 1, maxBudgets),
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

const strategies = nameList(strategyNames, strategyList)

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

/** Options of the library function `compare`. */
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
  ...planWatching
}

/** Options of the library function `gradients`. */
export interface GradientsOptions extends OptionsOf<typeof gradientsOptions>, BudgetOptions {}

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
  /** Called after each step. */
  onStep: fromJavaScript(callbackCodec<(report: BenchStep) => void>())
}

/** Options of the library function `bench`. */
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

/** Options of the library function `profile`. */
export interface ProfileOptions extends Omit<OptionsOf<typeof profileOptions>, 'model' | 'network'>, BudgetOptions {
  readonly model: ModelOptions['model']
}
