import { setImmediate } from 'node:timers/promises'
import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { type KernelTimer, createKernelTimer } from '../../native'
import { type Kernel, type Profile, type ProfiledModel, isKernel, keyOfKernel } from '../../staging'
import { loadDeviceModel, measurableChoice, missingDeviceFailure } from './device'
import { pickWatching, type Watching } from './watching'
import { type Failure, type Outcome, deviceFailure, inputFailure } from '../failure'
import type { RunnableSetup } from './setup'
import { addToProfile, profilePath, readProfile, withEachOnce, writeProfile } from './profile-cache'
import type { LongestLaunch } from './wanted-kernels'

/** Results of measuring kernels. */
export interface Measurements {
  readonly profile: Profile
  /** Path of the file of measured times. */
  readonly path: string
  /** Kernels that this run measured. */
  readonly measured: number
  /** False where the time was up before all that was wanted was measured. */
  readonly isComplete: boolean
}

/** How long measuring may take, plans included, and what it leaves out. */
export interface TimeLimit {
  readonly milliseconds: number
  readonly longestLaunch: LongestLaunch
}

/** Kernels to measure by what is known so far, the most important first. */
export type FindMissing = (device: ProfiledModel, until: number) => E.Either<Failure, readonly Kernel[]>

/** What is missing, and how often it is looked for: new times may make another plan best. */
export type Round = readonly [missing: FindMissing, most: number]

/** Plans whose kernels are wanted: all are of one graph on one device. */
export interface MeasurementRequest extends Watching {
  readonly setup: RunnableSetup
  readonly rounds: readonly Round[]
  readonly limit: TimeLimit
  readonly isAnew?: boolean
}

/** A profile with what was added to it, and why there was no more. */
interface Measured {
  readonly profile: Profile
  /**
   * Kernels that do not fit the device's memory, or that its library refuses: left to the model.
   */
  readonly refused: readonly Kernel[]
  /** Whether time was left for all. */
  readonly isComplete: boolean
  readonly failure?: Failure
}

/**
 * Milliseconds of measuring that a process that is killed may lose: an interrupt does not wait for
 * a kernel that takes long.
 */
const keptEveryMilliseconds = 2000

/** Launches that a measurement takes on the cpu, and the milliseconds it takes at least. */
const [launchesEach, leastMilliseconds] = [8, 30]

/** What is measured: on what, until when, and how it is kept. */
interface Measuring extends Watching {
  readonly device: ProfiledModel
  readonly until: number
  readonly keep: (profile: Profile) => Outcome<void>
}

const measureAll = async (
  meter: KernelTimer,
  kernels: readonly Kernel[],
  before: Profile,
  { device, until, keep, onKernel, signal }: Measuring
): Promise<Measured> => {
  const times: { readonly kernel: Profile['kernels'][number]['kernel']; readonly milliseconds: number }[] = []
  const withTimes = (): Profile => ({ ...before, kernels: [...before.kernels, ...times] })
  const refused: Kernel[] = []
  let refusal: Failure | undefined
  let keptAt = performance.now()
  let isComplete = true
  /** Those that the time that is left allows for. */
  const affordable = (some: readonly Kernel[]): readonly Kernel[] => {
    let at = performance.now()
    return some.filter((kernel) => {
      const after = at + Math.max(leastMilliseconds, launchesEach * device.milliseconds(kernel))
      if (after <= until) at = after
      else isComplete = false
      return after <= until
    })
  }
  for (let done = 0; done < kernels.length; done += meter.together) {
    // Lets an interrupt in, which a measurement blocks.
    await setImmediate()
    if (signal?.aborted) {
      const message = `interrupted after ${done} of ${kernels.length} kernels, whose times are kept`
      return { profile: withTimes(), refused, isComplete, failure: { code: 'interrupted', message } }
    }
    const together = kernels.slice(done, done + meter.together)
    const some = affordable(together)
    const answers = some.length === 0 ? E.right([]) : meter.milliseconds(some)
    if (E.isLeft(answers)) return { profile: withTimes(), refused, isComplete, failure: deviceFailure(answers.left) }
    some.forEach((kernel, index) => {
      const answer = answers.right[index]!
      if (typeof answer === 'number') times.push({ kernel: { ...kernel }, milliseconds: answer })
      else {
        refused.push(kernel)
        refusal = deviceFailure({ code: 'device', message: answer })
      }
    })
    together.forEach((kernel, index) => onKernel?.(done + index + 1, kernels.length, kernel))
    if (performance.now() - keptAt < keptEveryMilliseconds) continue
    const kept = await keep(withTimes())()
    if (E.isLeft(kept)) return { profile: withTimes(), refused, isComplete, failure: kept.left }
    keptAt = performance.now()
  }
  return {
    profile: withTimes(),
    refused,
    isComplete,
    ...(refusal !== undefined && withTimes().kernels.length === 0 && { failure: refusal })
  }
}

/**
 * Measures once more what was measured after the first `known` kernels, as far as time is left, and
 * corrects the times: another process that took a core for some seconds seldom does it twice.
 */
const measureAgain = async (
  meter: KernelTimer,
  profile: Profile,
  known: number,
  measuring: Measuring
): Promise<E.Either<Failure, Profile>> => {
  const kernels = profile.kernels.slice(known).flatMap(({ kernel }) => (isKernel(kernel) ? [kernel] : []))
  const again = await measureAll(meter, kernels, profile, measuring)
  const corrected = withEachOnce(again.profile)
  const written = await measuring.keep(corrected)()
  return again.failure === undefined ? E.map(() => corrected)(written) : E.left(again.failure)
}

/** What is measured anew takes the place of all that was kept, by other processes too. */
const howToKeep = (isAnew: boolean | undefined): Measuring['keep'] => (isAnew === true ? writeProfile : addToProfile)

/** Adds what is missing to a profile, round by round until a time, and keeps it after each. */
const measureMissing = async (
  meter: KernelTimer,
  { setup, rounds, isAnew, ...watching }: MeasurementRequest,
  start: Profile,
  until: number
): Promise<E.Either<Failure, Pick<Measured, 'profile' | 'isComplete'>>> => {
  const keep = howToKeep(isAnew)
  const refused = new Set<string>()
  let [profile, isComplete] = [start, true]
  for (const [missing, most] of rounds) {
    let isRoundComplete = true
    for (let round = 0; round < most; round += 1) {
      if (performance.now() >= until) {
        isRoundComplete = false
        break
      }
      const found = pipe(
        loadDeviceModel(setup, { measured: profile }),
        E.bindTo('device'),
        E.bind('kernels', ({ device }) => missing(device, until))
      )
      if (E.isLeft(found)) return found
      const { device } = found.right
      const kernels = found.right.kernels.filter((kernel) => !refused.has(keyOfKernel(kernel)))
      if (kernels.length === 0) break
      const measured = await measureAll(meter, kernels, profile, { device, until, keep, ...pickWatching(watching) })
      profile = measured.profile
      isRoundComplete = measured.isComplete
      const written = await keep(profile)()
      if (measured.failure !== undefined) return E.left(measured.failure)
      if (E.isLeft(written)) return written
      measured.refused.forEach((kernel) => refused.add(keyOfKernel(kernel)))
    }
    isComplete &&= isRoundComplete
  }
  return E.right({ profile, isComplete })
}

/** Of a limited time: what was measured is measured once more between these shares. */
const [firstShare, againShare] = [0.6, 0.85]

/**
 * Adds what is missing to a profile: first the sizes that matter, then every kernel; where the time
 * is limited each once more, the most important first, and then what plans by the corrected times
 * lack.
 */
const measureRounds = (
  meter: KernelTimer,
  request: MeasurementRequest,
  start: Profile
): Outcome<Pick<Measured, 'profile' | 'isComplete'>> => {
  const { setup, limit, isAnew, ...watching } = request
  const begin = performance.now()
  const [firstUntil, againUntil, until] = [firstShare, againShare, 1].map((share) => begin + share * limit.milliseconds)
  const isOnce = (profile: Profile): boolean => limit.milliseconds === Infinity || profile.kernels.length === start.kernels.length
  return pipe(
    () => measureMissing(meter, request, start, firstUntil!),
    TE.chain((first) =>
      isOnce(first.profile)
        ? TE.right(first)
        : pipe(
            TE.fromEither(loadDeviceModel(setup, { measured: first.profile })),
            TE.chain(
              (device) => () =>
                measureAgain(meter, first.profile, start.kernels.length, {
                  device,
                  until: againUntil!,
                  keep: howToKeep(isAnew),
                  ...pickWatching(watching)
                })
            ),
            TE.chain((corrected) => () => measureMissing(meter, request, corrected, until!))
          )
    )
  )
}

/**
 * Measures what rounds of plans lack, within a limit of time, and the link, and keeps it all. Fails
 * with code `input` for the reference device.
 */
export const measure = (wanted: MeasurementRequest): Outcome<Measurements> => {
  const choice = measurableChoice(wanted.setup)
  if (choice === undefined)
    return TE.left(inputFailure('only the cpu and the cuda device are worth a profile: the reference device computes in plain loops'))
  const { device, threads } = choice
  return pipe(
    TE.Do,
    TE.bind('meter', () => TE.fromEither(E.mapLeft(missingDeviceFailure)(createKernelTimer(choice)))),
    TE.bind('linkBytesPerSecond', ({ meter }) => TE.fromEither(E.mapLeft(deviceFailure)(meter.linkBytesPerSecond()))),
    TE.let('before', ({ meter: { library }, linkBytesPerSecond }): Profile => {
      const found = wanted.isAnew === true ? undefined : readProfile({ device, library, threads }, wanted)
      return { device, library, threads, linkBytesPerSecond, kernels: found?.kernels ?? [] }
    }),
    // The link's rate is new, whether or not any kernel is; what is measured anew stays until then.
    TE.chainFirst(({ before }) => (wanted.isAnew === true ? TE.right(undefined) : addToProfile(before))),
    TE.bind('after', ({ meter, before }) => measureRounds(meter, wanted, before)),
    TE.map(({ after: { profile, isComplete }, before }) => ({
      profile,
      path: profilePath(profile),
      measured: profile.kernels.length - before.kernels.length,
      isComplete
    }))
  )
}
