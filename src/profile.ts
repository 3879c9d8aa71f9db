import { setImmediate } from 'node:timers/promises'
import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { type Meter, openMeter } from '../native'
import { type DeviceModel, type Kernel, type Objective, type Profile, type StrategyName, encodeKernel, stage } from '../staging'
import { deviceOf, launchCounts, measuredChoice, notThere } from './device'
import { type Failure, type Outcome, deviceFailure, inputFailure } from './failure'
import { type RunnableSetup, imageSource, stageRequest, stagingFailure } from './planning'
import { profilePath, readProfile, writeProfile } from './profile-cache'
import type { Size } from './sizes'

export interface ProfileOptions extends RunnableSetup {
  readonly objective: Objective
  /** `done` kernels of this round are measured, of `total`. */
  readonly onKernel?: (done: number, total: number, kernel: Kernel) => void
  readonly signal?: AbortSignal
}

export interface ProfileReport {
  readonly profile: Profile
  /** Where it is kept. */
  readonly path: string
  /** Kernels that this run measured. */
  readonly measured: number
}

/** Budgets whose plans give the tile sizes to measure, where none is asked for. */
const usualBudgets: readonly Size[] = [0.15, 0.2, 1 / 3, 0.5].map((fraction) => ({ kind: 'ofPlain', fraction }))

/** New times may make another plan best, whose kernels are then measured too. */
const mostRounds = 4

/** A kernel by every algorithm that the device has for it. */
const alternatives = ({ algorithms }: DeviceModel, kernel: Kernel): readonly Kernel[] => {
  if (algorithms === undefined || !('algorithm' in kernel)) return [kernel]
  const direct = { ...kernel, algorithm: 0 }
  return [direct, ...algorithms(direct).map(({ algorithm }) => ({ ...kernel, algorithm }))]
}

/** Kernels of the plans in question, exact or not and by every algorithm, that were not measured, nor others of their family and about their size. */
const missingKernels = ({ objective, ...setup }: ProfileOptions, profile: Profile): E.Either<Failure, readonly Kernel[]> =>
  pipe(
    deviceOf(setup, profile),
    E.chain((device) => {
      const wanted: readonly (readonly [StrategyName, Size | undefined])[] = [
        ['plain', undefined],
        ...(setup.budget === undefined ? usualBudgets : [setup.budget]).map((budget) => [setup.strategy ?? 'auto', budget] as const)
      ]
      const missing = new Map<string, Kernel>()
      const { budget: _, ...unlimited } = setup
      const setups = wanted.flatMap(([strategy, budget]) => {
        const one = { ...unlimited, strategy, ...(budget === undefined ? {} : { budget }) }
        return [one, { ...one, exactKernels: true as const }]
      })
      for (const one of setups) {
        const staged = pipe(
          stageRequest(one, objective, imageSource, device),
          E.chain((request) => E.mapLeft(stagingFailure)(stage(request)))
        )
        if (E.isLeft(staged)) {
          // A budget that nothing fits has no kernels.
          if (staged.left.code === 'budget') continue
          return staged
        }
        const { program } = staged.right
        for (const index of launchCounts(program.step).keys())
          for (const kernel of alternatives(device, program.kernels[index]!))
            if (['far', 'roofline'].includes(device.sourceOf(kernel))) missing.set(encodeKernel(kernel).join(), kernel)
      }
      return E.right([...missing.values()])
    })
  )

const measureAll = async (
  meter: Meter,
  kernels: readonly Kernel[],
  before: Profile,
  { onKernel, signal }: ProfileOptions
): Promise<E.Either<Failure, Profile>> => {
  const times: { readonly kernel: Profile['kernels'][number]['kernel']; readonly milliseconds: number }[] = []
  let refused: Failure | undefined
  for (const [done, kernel] of kernels.entries()) {
    // Lets an interrupt in, which a measurement blocks.
    await setImmediate()
    if (signal?.aborted) return E.left({ code: 'interrupted', message: `interrupted after ${done} of ${kernels.length} kernels` })
    const milliseconds = meter.milliseconds(kernel)
    // One that does not fit the device's memory, or that its library refuses, is left to the model.
    if (E.isRight(milliseconds)) times.push({ kernel: { ...kernel }, milliseconds: milliseconds.right })
    else refused = deviceFailure(milliseconds.left)
    onKernel?.(done + 1, kernels.length, kernel)
  }
  return refused !== undefined && times.length === 0 ? E.left(refused) : E.right({ ...before, kernels: [...before.kernels, ...times] })
}

/** Adds what is missing to a profile, round by round, and keeps it after each. */
const measureRounds = async (meter: Meter, options: ProfileOptions, start: Profile): Promise<E.Either<Failure, Profile>> => {
  let profile = start
  for (let round = 0; round < mostRounds; round += 1) {
    const missing = missingKernels(options, profile)
    if (E.isLeft(missing)) return missing
    if (missing.right.length === 0) break
    const measured = await measureAll(meter, missing.right, profile, options)
    if (E.isLeft(measured)) return measured
    profile = measured.right
    const written = await writeProfile(profile)()
    if (E.isLeft(written)) return written
  }
  return E.right(profile)
}

/**
 * Measures the kernels of a model's plans (of `plain`, and of the strategy under the budget or under usual ones) and the link, and
 * keeps the times for every later plan on this machine with this library and number of threads.
 */
export const profileNetwork = (options: ProfileOptions): Outcome<ProfileReport> => {
  const choice = measuredChoice(options)
  if (choice === undefined)
    return TE.left(inputFailure('only the cpu and the cuda device are worth a profile: the reference device computes in plain loops'))
  const { device, threads } = choice
  return pipe(
    TE.Do,
    TE.bind('meter', () => TE.fromEither(E.mapLeft(notThere)(openMeter(choice)))),
    TE.bind('linkBytesPerSecond', ({ meter }) => TE.fromEither(E.mapLeft(deviceFailure)(meter.linkBytesPerSecond()))),
    TE.bind('before', ({ meter: { library }, linkBytesPerSecond }) =>
      pipe(
        readProfile({ device, library, threads }),
        E.map((found): Profile => ({
          device,
          library,
          threads,
          linkBytesPerSecond,
          kernels: found?.kernels ?? []
        })),
        TE.fromEither
      )
    ),
    TE.bind(
      'profile',
      ({ meter, before }) =>
        () =>
          measureRounds(meter, options, before)
    ),
    TE.map(({ profile, before }) => ({
      profile,
      path: profilePath(profile),
      measured: profile.kernels.length - before.kernels.length
    }))
  )
}
