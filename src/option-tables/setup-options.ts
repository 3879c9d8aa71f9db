import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import { type Model, type PlanFile, lossTable, parseLoss, strategyNames } from '../../dsl'
import type { Head } from '../../models'
import type { DeviceName } from '../../native'
import type { DeviceFile } from '../../staging'
import { predicateCodec } from '../../staging/decoding/predicate-codec'
import type * as ModelCodec from '../model/model-codec'
import type { Planned } from '../plans/plan-network'
import type * as DeviceFileCodec from '../plans/device-file'
import type * as PlanFileCodec from '../plans/plan-file'
import type { Watching } from '../plans/watching'
import { alternatives } from '../text/alternatives'
import { abortSignalCodec, callbackCodec, decoderCodec, lazyCodec, objectOrCodec, pathCodec } from '../options/codecs'
import { deviceNames, devicePrecisions, isDeviceName, precisionNames } from '../options/devices'
import { type GivenSize, extents, flag, flagOrWhole, network, oneOf, path, rate, size, sizeOrZero, whole, textKind } from '../options/kinds'
import { maxClasses, maxRanks, maxThreads } from '../options/limits'
import { type Kind, type OptionsOf, argument, withDefault, fromJavaScript, optional } from '../options/option'
import type { Size } from '../options/sizes'

const model: Kind<Model | string> = textKind(
  'model',
  objectOrCodec<Model, string>(
    'a model, or the name or path of one',
    lazyCodec('a model', () => (require('../model/model-codec') as typeof ModelCodec).modelCodec),
    pathCodec
  ),
  E.right
)

/** A device of this machine, one that a file describes, or the path of that file. */
type GivenDevice = DeviceName | DeviceFile | `${string}.json`
type DeviceText = Extract<GivenDevice, string>

const deviceChoices = `${deviceNames.join(', ')}, or the path of a *.json file`
const isDeviceText = (value: unknown): value is DeviceText => isDeviceName(value) || (typeof value === 'string' && value.endsWith('.json'))

const device: Kind<GivenDevice> = textKind(
  'name',
  objectOrCodec<DeviceFile, DeviceText>(
    `one of ${deviceChoices}`,
    lazyCodec('a device', () => (require('../plans/device-file') as typeof DeviceFileCodec).deviceCodec),
    predicateCodec(`one of ${deviceChoices}`, isDeviceText)
  ),
  E.fromPredicate(isDeviceText, () => `Allowed choices are ${deviceChoices}.`)
)

const plan: Kind<PlanFile | string> = textKind(
  'file',
  objectOrCodec<PlanFile, string>(
    'a plan, or the path of a plan file',
    lazyCodec('a plan', () => (require('../plans/plan-file') as typeof PlanFileCodec).planCodec),
    pathCodec
  ),
  E.right
)

const checkedLoss = (formula: string): E.Either<string, string> =>
  pipe(
    parseLoss(formula),
    E.map(() => formula)
  )

/** What a loss is a sum of; the sentence is the formula's. */
export const loss: Kind<string> = textKind(
  'formula',
  decoderCodec('a loss', (value) => (typeof value === 'string' ? checkedLoss(value) : E.left('it is not a text'))),
  checkedLoss
)

const heads = ['gap', 'classic'] as const satisfies readonly Head[]

const precisionsText = [
  ...deviceNames.map((name) => `${name}: ${alternatives(devicePrecisions[name])}`),
  'a described device: float32 or float64',
  'a recorded GPU: its own'
].join('; ')

/** The model, its input, and the device that it runs on. */
export const modelOptions = {
  /** A model, the name of a built-in one, or the path of a module whose default export is one. */
  model: argument(
    model,
    'a built-in name, such as vgg16, resnet50 or deeplabv3plus, or a module in TypeScript or JavaScript whose default export is a model'
  ),
  /**
   * [B, C, H, W]; the model's own where absent. Built-in models have none: `train` takes a batch of
   * 1 and the extent of `crop`, `gradients` the shape of its batch.
   */
  input: optional(extents(4, 'BxCxHxW', '1x3x1024x1024'), 'batch, channels, height, width', {
    otherwise: "the model's own; of a built-in one, which has none, in train one image of --crop, in gradients the batch's, else required"
  }),
  /**
   * Number of classes of a built-in model named by its name; where absent what the data say, or the
   * names of classes that the weights have, or 1000.
   */
  classes: optional(whole(1, maxClasses), 'classes of a built-in model', {
    otherwise: 'what the data say, or names of classes in the weights, or 1000'
  }),
  /** The end of a built-in model named by its name. */
  head: withDefault(oneOf<Head>('kind', heads), 'end of a built-in model', 'gap'),
  /**
   * The loss, where the model has none of its own: losses joined by +, each with perhaps a factor
   * before it and options behind it, as in 'dice+0.5*cross-entropy:smoothing=0.1'. Cross-entropy
   * where absent.
   */
  loss: optional(
    loss,
    `the loss, such as dice+0.5*cross-entropy: a sum of ${Object.keys(lossTable).join(', ')}, with factors and options (docs/losses.md)`,
    { otherwise: 'cross-entropy' }
  ),
  /**
   * A device of this machine, or one that a *.json file describes (or what one holds), which can
   * be planned for; its memory is then the budget. A profile of the cpu is such a file, without a
   * memory; a recorded GPU limits nothing either.
   */
  device: withDefault(device, `${deviceNames.join(', ')}, or a *.json file that describes one to plan for`, 'cpu'),
  /**
   * The cpu computes in float32 where absent, or bf16; cuda in float32 where absent, tf32 or bf16;
   * the reference device in float64 where absent, float32 or bf16; one of a file in float32 where
   * absent, or float64; a recorded GPU and a profile of a cpu in their own.
   */
  precision: optional(oneOf('type', precisionNames), `what is computed in; ${precisionsText}`, { otherwise: "the device's first" }),
  /** All of the machine's where absent. */
  threads: optional(whole(1, maxThreads), 'threads', { otherwise: 'all' })
}

/** The option that limits the link over which swapped tensors reach the host. */
export const bandwidthOptions = {
  /**
   * Limit of the link between device and host in bytes per second, or a text: '2GB/s'. As fast as
   * memory where absent.
   */
  hostBandwidth: optional(rate, 'limit of the link between device and host, such as 2GB/s', { formerly: 'link' })
}

/** Options of what a plan may use beside the device's memory, and how it places buffers. */
export const planningOptions = {
  /**
   * Limit of host memory in bytes for tensors that are swapped out, or a text as `budget` has it,
   * or 0; `auto` swaps only where it is given. Unlimited where absent.
   */
  hostBudget: optional(sizeOrZero, 'host memory for what is swapped out; auto swaps only where it is given'),
  ...bandwidthOptions,
  /**
   * The placement of a step's buffers; `virtual` maps pages of memory to addresses of each buffer's
   * own while it lives (as virtual memory does), `static` gives each an offset.
   */
  placement: optional(oneOf('name', ['static', 'virtual']), 'how buffers get their memory; virtual maps pages of it', {
    otherwise: 'static'
  }),
  /**
   * Bytes of a page under `virtual`, a multiple of 4096, or a text: '2MiB'. 64 KiB where absent; of
   * cuda a multiple of 2 MiB, which is its default.
   */
  pageSize: optional<GivenSize, Size>(size, 'of memory under --placement virtual, a multiple of 4096 bytes, on cuda of 2MiB', {
    otherwise: '64KiB, on cuda 2MiB',
    formerly: 'chunk'
  }),
  /**
   * Refuses kernels that round differently than the others: no convolution runs by Winograd's or
   * Fourier transforms, or normalises on load.
   */
  exactKernels: optional(
    flag,
    'refuse kernels that round differently: no convolution runs by Winograd or Fourier transforms, nor normalises on load'
  )
}

/** Within how much memory, and by what decisions. */
export const budgetOptions = {
  /**
   * Limit of device memory in bytes, or a text: '256MiB', '1GB', '20%' of what `plain` needs.
   * Unlimited where absent.
   */
  budget: optional(size, 'device memory: bytes, KiB MiB GiB, KB MB GB, or N% of what plain needs', { otherwise: 'no limit' }),
  /** Name of the strategy that plans memory. */
  strategy: optional(oneOf('name', strategyNames), 'how memory is planned', { otherwise: 'auto' }),
  /** Decisions to take in place of a strategy's: a plan, or the path of a plan file. */
  plan: optional(plan, 'a plan file in place of a strategy: *.plan.ts or *.json', { conflicts: ['strategy', 'placement', 'pageSize'] })
}

/** The network between ranks. */
export const networkOption = {
  /**
   * Bytes per second and seconds of latency of the network between ranks, or a text: '100Gb/s,2us',
   * '12.5GB/s'. Where absent what `profile` with `network` measured here, or 10 Gb/s and 20 µs.
   */
  network: optional(network, 'rate, and perhaps latency, of the network between ranks: 100Gb/s,2us (bits) or 12.5GB/s (bytes)', {
    otherwise: 'what profile --network measured here, or 10Gb/s,20us'
  })
}

/** Whether each rank updates slices of the parameters alone. */
export const shardOptimizerOption = {
  /**
   * Whether each rank keeps, and updates by, its slices of the optimizer state alone (ZeRO stage
   * 1); without ranks nothing changes.
   */
  shardOptimizer: withDefault(
    flag,
    'each rank keeps its slices of the optimizer state alone, updates by them, and weights are gathered (docs/ranks.md)',
    false
  )
}

/** Plans for ranks, wherever they are. */
export const rankOptions = {
  /**
   * Ranks that share an update: its micro-batches, or rows of each image. One process where absent.
   */
  ranks: optional(whole(1, maxRanks), 'plan for so many ranks, which share micro-batches, or images or rows of each (docs/ranks.md)', {
    otherwise: 'one process'
  }),
  /** How ranks share the rows of each image, as of `train`; 1 where they do not. */
  shardRows: optional(flagOrWhole, 'plan for ranks that share rows as train does with this, 1 for none', {
    otherwise: 'the fastest way',
    needs: ['ranks']
  }),
  /** How ranks share the images of each micro-batch, as of `train`; 1 where they do not. */
  shardImages: optional(flagOrWhole, 'plan for ranks that share images as train does with this, 1 for none', {
    otherwise: 'the fastest way',
    needs: ['ranks']
  }),
  shardOptimizer: { ...shardOptimizerOption.shardOptimizer, needs: ['ranks'] },
  ...networkOption
}

/** The option of a seed, where weights or images are drawn. */
export const seedOption = {
  /** Seed of the initial weights, the order of images, crops and dropout. */
  seed: withDefault(whole(0), 'of initial weights, order, crops, dropout', 0)
}

/** Options of every function that plans a model's step, named as on the command line. */
export const setupOptions = { ...modelOptions, ...planningOptions, ...budgetOptions, ...seedOption }

const measuring: Kind<boolean | 'sample'> = {
  codec: predicateCodec<boolean | 'sample'>("true, false or 'sample'", (value) => typeof value === 'boolean' || value === 'sample'),
  commandLine: { form: 'flag' }
}

/** The option that measures before planning. */
export const measureOption = {
  /**
   * Measures (and keeps) the times of the plan's kernels that this machine's profile lacks, before
   * the plan is made: all of them, or as a `sample` the most important for at most 15 seconds, and
   * only where little of the network is known. The command line takes a sample, and the library
   * nothing, where it is absent.
   */
  measure: optional(measuring, 'first measure all kernels of the plan that were not measured on this machine, and keep their times', {
    otherwise: 'where the network is new here, a sample, for at most 15 s',
    refusal: 'measure nothing first, not even a sample'
  })
}

/** Draws what a command tells. */
export const reportOption = {
  /** Path of the page to write that draws what is told: one HTML file, which needs no network. */
  report: optional(path('file'), 'write a page that draws it: one HTML file, which needs no network')
}

/** The option of a trace of steps as they ran. */
export const runTraceOption = {
  /** Path of the latest steps to write, as they ran: *.json, which Perfetto opens. */
  trace: optional(path('file'), 'write the latest steps as they ran as trace events, JSON, which ui.perfetto.dev opens')
}

/** Stops what plans, measures or runs. */
const signalOption = {
  /** Aborting it stops after the current kernel, or instruction. */
  signal: fromJavaScript<AbortSignal>(abortSignalCodec)
}

/** Watches what plans. */
const searchingOption = {
  /** Called each second while a plan is searched: how many plans and segments were looked at. */
  onSearch: fromJavaScript(callbackCodec<NonNullable<Watching['onSearch']>>())
}

/** Watches what plans, measures or runs. */
export const watchingOptions = {
  ...searchingOption,
  /** Called before a sample of kernels is measured, which takes so many seconds at most. */
  onSample: fromJavaScript(callbackCodec<NonNullable<Watching['onSample']>>()),
  /** Called while kernels are measured: `done` of this round's, of `total`. */
  onKernel: fromJavaScript(callbackCodec<NonNullable<Watching['onKernel']>>()),
  /** Called with one sentence that the user should see. */
  onNotice: fromJavaScript(callbackCodec<NonNullable<Watching['onNotice']>>()),
  ...signalOption
}

/**
 * The options of a model and its device. Interfaces of options have two bases, this one and that of
 * their own table: of a single one the compiler's sentences tell all members in place of its name.
 */
export interface ModelOptions extends OptionsOf<typeof modelOptions> {}

/** Within how much memory a step is planned, and by what decisions. */
export interface BudgetOptions extends OptionsOf<typeof budgetOptions> {}

/** Options of a setup: what is trained, where, and within how much memory. */
export interface SetupOptions extends OptionsOf<typeof setupOptions>, OptionsOf<typeof measureOption> {}

/** The option of the library that is told of the plan. */
export const planWatching = {
  /** Called once with the plan, before anything runs. */
  onPlan: fromJavaScript(callbackCodec<(planned: Planned) => void>())
}
