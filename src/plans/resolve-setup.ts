import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { elementCount } from '../../staging/graph/extents'
import type { Model, PlanFile } from '../../dsl'
import type { HeadOptions } from '../../models'
import { type DevicePrecision, type NetworkRates, deviceFileName } from '../../staging'
import { type Failure, type Outcome, inputFailure } from '../failure'
import { isBuiltIn, loadModel } from '../model/load-model'
import { withLoss } from '../model/model-loss'
import { deviceNames, listDevices, isDeviceName } from '../options/devices'
import { maxElements } from '../options/limits'
import type { DecodedOptions } from '../options/option'
import { type budgetOptions, type measureOption, modelOptions, type planningOptions } from '../option-tables/setup-options'
import { alternatives } from '../text/alternatives'
import { present } from '../options/present'
import { listPrecisions } from './device'
import { loadDevice } from './device-file'
import { type LoadedPlan, loadPlan } from './plan-file'
import { resolvePlacement } from './resolve-placement'
import type { RunnableSetup, Setup } from './setup'

/** The options of a setup as they were decoded: of some functions not all. */
export interface SetupChoices
  extends
    DecodedOptions<typeof modelOptions>,
    DecodedOptions<typeof planningOptions>,
    DecodedOptions<typeof budgetOptions>,
    DecodedOptions<typeof measureOption> {
  readonly crop?: readonly number[]
  readonly network?: NetworkRates
}

const defaultClasses = 1000

/** The end of a built-in model; `known` is what the data say, or the weights. */
export const resolveHeadOptions = ({ classes, head }: Pick<SetupChoices, 'classes' | 'head'>, known = defaultClasses): HeadOptions => ({
  classes: classes ?? known,
  head
})

/**
 * --crop sets height and width of what the network sees; batch and channels are --input's, the
 * model's, or 1 and 3.
 */
const croppedInput = ({ input, crop }: SetupChoices, model: Model, plan: PlanFile | undefined): readonly number[] | undefined => {
  const whole = input ?? model.input ?? plan?.input
  return crop === undefined ? whole : [...(whole ?? [1, 3]).slice(0, 2), ...crop]
}

const checkPrecision = (device: Setup['device'], precision: DevicePrecision | undefined): E.Either<Failure, void> => {
  const known = listPrecisions(device)
  if (precision === undefined || known.includes(precision)) return E.right(undefined)
  const name = typeof device === 'string' ? `${device} device` : `described device ${deviceFileName(device)}`
  const others = listDevices(precision).join(' or ')
  return E.left(inputFailure(`--precision ${precision}: the ${name} computes in ${known.join(' or ')}; take --device ${others}`))
}

/** A sentence where options are given that only built-in models have. */
const findUnused = ({ model, classes, head }: SetupChoices): string | undefined => {
  if (typeof model === 'string' && isBuiltIn(model)) return undefined
  const given = [...(classes === undefined ? [] : ['--classes']), ...(head === modelOptions.head.fallback ? [] : ['--head'])]
  if (given.length === 0) return undefined
  return given.length === 1
    ? `${given[0]} is for built-in models: it changes nothing of this one`
    : `${given.join(' and ')} are for built-in models: they change nothing of this one`
}

interface Parts {
  readonly model: Model
  readonly plan: PlanFile | undefined
  readonly fields: Omit<Setup, 'model'>
}

const loadParts = (options: SetupChoices, knownClasses?: number): Outcome<Parts> =>
  pipe(
    TE.Do,
    TE.bind('model', () =>
      typeof options.model === 'string' ? loadModel(options.model, resolveHeadOptions(options, knownClasses)) : TE.right(options.model)
    ),
    TE.bind('loaded', (): Outcome<Partial<LoadedPlan>> =>
      typeof options.plan === 'string' ? loadPlan(options.plan) : TE.right(present({ plan: options.plan }))
    ),
    TE.let('plan', ({ loaded }) => loaded.plan),
    TE.bind('device', () => TE.fromEither(resolveDevice(options.device))),
    TE.chainFirstEitherK(({ device }) => checkPrecision(device, options.precision)),
    TE.bind('placement', ({ device, plan }) => TE.fromEither(resolvePlacement(options, device, plan))),
    TE.map(({ model, loaded, plan, device, placement }) => {
      const { precision, strategy, threads, budget, hostBudget, hostBandwidth, network } = options
      const exactKernels = options.exactKernels === true ? (true as const) : undefined
      const measure = options.measure === true ? ('all' as const) : options.measure === 'sample' ? options.measure : undefined
      const fields = {
        device,
        ...present({ precision, strategy, threads, exactKernels, measure, plan, budget, hostBudget, hostBandwidth, network, placement }),
        ...present({
          planPath: typeof options.plan === 'string' ? options.plan : undefined,
          planNotice: loaded.notice,
          modelNotice: findUnused(options)
        })
      }
      return { model, plan, fields }
    })
  )

const resolveDevice = (device: SetupChoices['device']): E.Either<Failure, Setup['device']> =>
  isDeviceName(device) ? E.right(device) : loadDevice(device)

/** The model with the loss that --loss asks for, which fits what it makes of such an input. */
export const withFormula = ({ loss }: Pick<SetupChoices, 'loss'>, model: Model, input: readonly number[]): E.Either<Failure, Model> =>
  loss === undefined ? E.right(model) : withLoss(loss, input)(model)

/**
 * Loads the model, the plan and the device that options name, and settles the input;
 * `classesOfData` is what the data say, where there are data.
 */
export const resolveSetup = (options: SetupChoices, classesOfData?: number): Outcome<Setup> =>
  pipe(
    loadParts(options, classesOfData),
    TE.chainEitherK(({ model, plan, fields }) => {
      const input = croppedInput(options, model, plan)
      if (input === undefined)
        return E.left(
          inputFailure(
            `${model.name} has no input of its own: give --input, such as --input 1x3x1024x1024, or in train --crop, such as --crop 1024x1024`
          )
        )
      // A batch and a crop may each be small enough.
      return elementCount(input) <= maxElements
        ? E.map((whole: Model) => ({ ...fields, model: whole, input }))(withFormula(options, model, input))
        : E.left(inputFailure(`the input ${input.join('x')} is larger than anything that can be planned: take a smaller one`))
    })
  )

/**
 * Loads the model, the plan and the device that options name, where the data bring the input's
 * shape, at which a loss is still to be fitted; `classesOfWeights` is what the weights say, where
 * they do.
 */
export const resolveSetupWithoutInput = (options: Omit<SetupChoices, 'loss'>, classesOfWeights?: number): Outcome<Setup> =>
  pipe(
    loadParts(options, classesOfWeights),
    TE.map(({ model, fields }) => ({ ...fields, model, ...present({ input: options.input }) }))
  )

/** Refuses a device that is elsewhere. */
export const requireLocalDevice = ({ device, ...setup }: Setup): E.Either<Failure, RunnableSetup> =>
  typeof device === 'string'
    ? E.right({ ...setup, device })
    : E.left(
        inputFailure(
          `--device: ${deviceFileName(device)} is known from a file and can only be planned for; give ${alternatives(deviceNames)} to run`
        )
      )
