import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import type { Model, Plan } from '../../dsl'
import type { Head, HeadOptions } from '../../models'
import type { DeviceName } from '../../native'
import { type DeviceFile, type DevicePrecision, type StrategyName, decodePlanFile, deviceFileName, strategyNames } from '../../staging'
import type { OptionalCodecs, RequiredCodecs } from '../../staging/decoding/exactly'
import { devicesOf, precisionsOf } from '../device'
import { loadDevice } from '../device-file'
import { type Failure, inputFailure } from '../failure'
import { loadModel } from '../load-model'
import { decodeModel } from '../model-codec'
import { loadPlan } from '../plan-file'
import type { RunnableSetup, Setup } from '../run-setup'
import type { Watching } from '../profile'
import { type Size, parseRate, parseSize, parseSizeOrZero } from '../sizes'
import { type PlacementOptions, placementOf } from './placement'
import { abortSignal, accepting, callback, decoding, extents, flag, objectOr, oneOf, path, saying, whole } from '../codecs'
import { isDeviceText, orTextIfPresent, present, rate, size, sizeOrZero } from './values'
import { mostClasses, mostElements, mostThreads } from '../limits'

/** What every function takes: what is trained, where, and within how much memory. Named as on the command line. */
export interface SetupOptions extends PlacementOptions {
  /** A model, the name of a built-in one, or the path of a module whose default export is one. */
  readonly model: Model | string
  /** [B, C, H, W]; the model's own where absent. */
  readonly input?: readonly number[]
  /** Of a built-in model named by its name; 1000, or what the data say, where absent. */
  readonly classes?: number
  /** Of a built-in model named by its name; `gap` where absent. */
  readonly head?: Head
  /** Bytes, or a text: '256MiB', '1GB', '20%' of what `plain` needs. Unlimited where absent. */
  readonly budget?: number | string | Size
  /** The same of the host, where tensors wait that are swapped out, or 0; `auto` swaps only where it is given. Unlimited where absent. */
  readonly hostBudget?: number | string | Size
  /** Bytes per second between device and host, or a text: '2GB/s'. As fast as memory where absent. */
  readonly link?: number | string
  /**
   * `cpu` where absent. A device that a *.json file describes (or what one holds) can be planned for; its memory is then the budget. A
   * profile of the cpu is such a file, without a memory; a recorded GPU limits nothing either.
   */
  readonly device?: DeviceName | DeviceFile | `${string}.json`
  /**
   * The cpu computes in float32; cuda in float32 where absent, tf32 or bf16; the reference device in float64 where absent, float32 or bf16;
   * one of a file in float32 where absent, or float64; a recorded GPU in its own.
   */
  readonly precision?: DevicePrecision
  /** `auto` where absent. */
  readonly strategy?: StrategyName
  /** Decisions to take in place of a strategy's: a plan, or the path of a plan file. */
  readonly plan?: Plan | string
  /** All of the machine's where absent. */
  readonly threads?: number
  /** Whether to refuse kernels that round differently than the others: no convolution runs by Winograd or Fourier transforms. */
  readonly exactKernels?: boolean
  /** Whether kernels of the plan that this machine's profile lacks are measured (and kept) before it is made. */
  readonly measure?: boolean
  /** Of initial weights, order, crops and dropout; 0 where absent. */
  readonly seed?: number
}

/** Of functions that measure or run. */
export const watchingCodecs: OptionalCodecs<Watching> = { onKernel: callback(), signal: abortSignal }

type DeviceText = Extract<SetupOptions['device'], string>

const deviceText = 'one of cpu, cuda, reference, or the path of a *.json file'

/** What every function takes that has a model; the compiler holds options and codecs equal. */
export const modelCodec: RequiredCodecs<SetupOptions> = {
  model: objectOr<Model, string>('a model, or the name or path of one', decoding('a model', decodeModel), path)
}

export const setupCodecs: OptionalCodecs<SetupOptions> = {
  input: extents(4),
  classes: whole(1, mostClasses),
  head: oneOf('gap', 'classic'),
  budget: size,
  hostBudget: sizeOrZero,
  link: rate,
  device: objectOr<DeviceFile, DeviceText>(
    deviceText,
    saying('a device', (value) => loadDevice(value as DeviceFile)),
    accepting(deviceText, (value) => typeof value === 'string' && isDeviceText(value))
  ),
  precision: oneOf('float32', 'tf32', 'bf16', 'float64'),
  strategy: oneOf(...strategyNames),
  plan: objectOr<Plan, string>('a plan, or the path of a plan file', decoding('a plan', decodePlanFile), path),
  threads: whole(1, mostThreads),
  exactKernels: flag,
  measure: flag,
  seed: whole(0),
  placement: oneOf('static', 'virtual'),
  chunk: size
}

interface CroppedOptions extends SetupOptions {
  readonly crop?: readonly number[]
}

const defaultClasses = 1000

/** Of a built-in model; `classes` is what the data say, where there are data. */
export const headOptionsOf = ({ classes, head }: SetupOptions, classesOfData = defaultClasses): HeadOptions => ({
  classes: classes ?? classesOfData,
  ...present({ head })
})

/** --crop sets height and width of what the network sees; batch and channels are --input's, the model's, or 1 and 3. */
const croppedInput = ({ input, crop }: CroppedOptions, model: Model, plan: Plan | undefined): readonly number[] | undefined => {
  const whole = input ?? model.input ?? plan?.input
  return crop === undefined ? whole : [...(whole ?? [1, 3]).slice(0, 2), ...crop]
}

const checkPrecision = (device: Setup['device'], precision: DevicePrecision | undefined): E.Either<Failure, void> => {
  const known = precisionsOf(device)
  if (precision === undefined || known.includes(precision)) return E.right(undefined)
  const name = typeof device === 'string' ? `${device} device` : `described device ${deviceFileName(device)}`
  const others = devicesOf(precision).join(' or ')
  return E.left(inputFailure(`--precision ${precision}: the ${name} computes in ${known.join(' or ')}; take --device ${others}`))
}

const deviceOf = ({ device = 'cpu' }: SetupOptions): E.Either<Failure, Setup['device']> =>
  device === 'cpu' || device === 'cuda' || device === 'reference' ? E.right(device) : loadDevice(device)
const sizeOf = (name: string, size: number | string | Size | undefined, parse: typeof parseSize): E.Either<Failure, Size | undefined> =>
  orTextIfPresent(name, typeof size === 'number' ? `${size}` : size, parse)

const parts = (
  options: SetupOptions,
  classesOfData?: number
): E.Either<Failure, { readonly model: Model; readonly plan: Plan | undefined; readonly fields: Omit<Setup, 'model'> }> =>
  pipe(
    sizeOf('budget', options.budget, parseSize),
    E.bindTo('budget'),
    E.bind('hostBudget', () => sizeOf('hostBudget', options.hostBudget, parseSizeOrZero)),
    E.bind('link', () => orTextIfPresent('link', options.link, parseRate)),
    E.bind('model', () =>
      typeof options.model === 'string' ? loadModel(options.model, headOptionsOf(options, classesOfData)) : E.right(options.model)
    ),
    E.bind('plan', () => (typeof options.plan === 'string' ? loadPlan(options.plan) : E.right(options.plan))),
    E.bind('device', () => deviceOf(options)),
    E.chainFirst(({ device }) => checkPrecision(device, options.precision)),
    E.bind('placement', ({ device, plan }) => placementOf(options, device, plan)),
    E.map(({ budget, hostBudget, link, model, plan, device, placement }) => {
      const { precision, strategy, threads } = options
      const [exactKernels, measure] = [options.exactKernels, options.measure].map((one) => (one === true ? (true as const) : undefined))
      const fields = {
        device,
        ...present({ precision, strategy, threads, exactKernels, measure, plan, budget, hostBudget, link, placement })
      }
      return { model, plan, fields }
    })
  )

const product = (extents: readonly number[]): number => extents.reduce((all, extent) => all * extent, 1)

/** A model with an input; `classesOfData` is what the data say, where there are data. */
export const setupOf = (options: CroppedOptions, classesOfData?: number): E.Either<Failure, Setup> =>
  pipe(
    parts(options, classesOfData),
    E.chain(({ model, plan, fields }) => {
      const input = croppedInput(options, model, plan)
      if (input === undefined)
        return E.left(inputFailure(`${model.name} has no input of its own: give --input, such as --input 1x3x1024x1024`))
      // A batch and a crop may each be small enough.
      return product(input) <= mostElements
        ? E.right({ ...fields, model, input })
        : E.left(inputFailure(`the input ${input.join('x')} is larger than anything that can be planned: take a smaller one`))
    })
  )

/** Like `setupOf`, where the data bring the input's shape. */
export const setupWithoutInput = (options: SetupOptions): E.Either<Failure, Setup> =>
  pipe(
    parts(options),
    E.map(({ model, fields }) => ({ ...fields, model, ...present({ input: options.input }) }))
  )

/** Refuses a device that is elsewhere. */
export const runnable = ({ device, ...setup }: Setup): E.Either<Failure, RunnableSetup> =>
  typeof device === 'string'
    ? E.right({ ...setup, device })
    : E.left(
        inputFailure(
          `--device: ${deviceFileName(device)} is known from a file and can only be planned for; give cpu, cuda or reference to run`
        )
      )
