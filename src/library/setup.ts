import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import type { Model, Plan } from '../../dsl'
import type { Head, HeadOptions } from '../../models'
import type { StrategyName } from '../../staging'
import type { DeviceName } from '../../native'
import { type DevicePrecision, devicePrecisions } from '../device'
import { type Failure, inputFailure } from '../failure'
import { loadModel } from '../load-model'
import { loadPlan } from '../plan-file'
import type { Setup } from '../planning'
import { type Size, parseSize } from '../sizes'
import { checkValues, orTextIfPresent, present } from './values'

/** What every function takes: what is trained, where, and within how much memory. Named as on the command line. */
export interface SetupOptions {
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
  /** `cpu` where absent. */
  readonly device?: DeviceName
  /** The cpu computes in float32; cuda in float32 where absent, or in tf32; the reference device in float64 where absent, or float32. */
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

const checkPrecision = ({ device = 'cpu', precision }: SetupOptions): E.Either<Failure, void> => {
  const known: readonly DevicePrecision[] = devicePrecisions[device]
  if (precision === undefined || known.includes(precision)) return E.right(undefined)
  const other = precision === 'tf32' ? 'cuda' : 'reference'
  return E.left(inputFailure(`--precision ${precision}: the ${device} device computes in ${known.join(' or ')}; take --device ${other}`))
}

const parts = (
  options: SetupOptions,
  classesOfData?: number
): E.Either<Failure, { readonly model: Model; readonly plan: Plan | undefined; readonly fields: Omit<Setup, 'model'> }> =>
  pipe(
    checkValues(options),
    E.chain(() => checkPrecision(options)),
    E.chain(() => orTextIfPresent('budget', typeof options.budget === 'number' ? `${options.budget}` : options.budget, parseSize)),
    E.bindTo('budget'),
    E.bind('model', () =>
      typeof options.model === 'string' ? loadModel(options.model, headOptionsOf(options, classesOfData)) : E.right(options.model)
    ),
    E.bind('plan', () => (typeof options.plan === 'string' ? loadPlan(options.plan) : E.right(options.plan))),
    E.map(({ budget, model, plan }) => {
      const { device = 'cpu', precision, strategy, threads } = options
      const [exactKernels, measure] = [options.exactKernels, options.measure].map((one) => (one === true ? (true as const) : undefined))
      return { model, plan, fields: { device, ...present({ precision, strategy, threads, exactKernels, measure, plan, budget }) } }
    })
  )

/** A model with an input; `classesOfData` is what the data say, where there are data. */
export const setupOf = (options: CroppedOptions, classesOfData?: number): E.Either<Failure, Setup> =>
  pipe(
    parts(options, classesOfData),
    E.chain(({ model, plan, fields }) => {
      const input = croppedInput(options, model, plan)
      return input === undefined
        ? E.left(inputFailure(`${model.name} has no input of its own: give --input, such as --input 1x3x1024x1024`))
        : E.right({ ...fields, model, input })
    })
  )

/** Like `setupOf`, where the data bring the input's shape. */
export const setupWithoutInput = (options: SetupOptions): E.Either<Failure, Setup> =>
  pipe(
    parts(options),
    E.map(({ model, fields }) => ({ ...fields, model, ...present({ input: options.input }) }))
  )
