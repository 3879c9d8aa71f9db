import { setImmediate } from 'node:timers/promises'
import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { type KernelTimer, createKernelTimer, recordGpu } from '../../native'
import { type Kernel, type Objective, type Profile, type ProfiledModel, deviceFileName, isConvolution, keyOfKernel, smallerKernel } from '../../staging'
import { deviceChoice, loadDeviceModel, measurableChoice, missingDeviceFailure } from './device'
import { pickWatching, type Watching } from './watching'
import { type Failure, type Outcome, deviceFailure, inputFailure } from '../failure'
import { type SetupGraph, buildSetupGraph, imageSource } from './plan-network'
import type { RunnableSetup } from './setup'
import { profilePath, readProfile, writeProfile } from './profile-cache'
import type { Size } from '../options/sizes'
import { writeFileAtomic } from '../files/atomic-write'
import { type LongestLaunch, algorithmVariants, launchedKernels, measurableKernel } from './wanted-kernels'

/** A model on a device, whose kernels are to be measured. */
interface MeasuredModel extends Watching {
  readonly setup: RunnableSetup
  readonly objective: Objective
  /**
   * A *.json file to write of the GPU, from which the same plans are made elsewhere; of cuda alone.
   */
  readonly out: string | undefined
  /** Whether what was measured before is measured anew. */
  readonly isAnew: boolean
}

interface Measurements {
  readonly profile: Profile
  /** Path of the file of measured times. */
  readonly path: string
  /** Kernels that this run measured. */
  readonly measured: number
  /** False where the time was up before all that was wanted was measured. */
  readonly isComplete: boolean
}

/** How long measuring may take, plans included, and what it leaves out. */
interface TimeLimit {
  readonly milliseconds: number
  readonly longestLaunch: LongestLaunch
}

const noLimit: TimeLimit = { milliseconds: Infinity, longestLaunch: { convolution: Infinity, other: Infinity } }

/** Launches up to a second, of what a plan may spend many seconds in. */
const profileLimit: TimeLimit = { milliseconds: 85_000, longestLaunch: { convolution: 1000, other: 200 } }

const sampleSeconds = 15

/** A launch that is measured is repeated eight times: none takes much more than a second in all. */
const sampleLimit: TimeLimit = { milliseconds: 1000 * sampleSeconds, longestLaunch: { convolution: 150, other: 20 } }

/** Kernels to measure by what is known so far, the most important first. */
type FindMissing = (device: ProfiledModel, until: number) => E.Either<Failure, readonly Kernel[]>

/** What is missing, and how often it is looked for: new times may make another plan best. */
type Round = readonly [missing: FindMissing, most: number]

/** Plans whose kernels are wanted: all are of one graph on one device. */
interface MeasurementRequest extends Watching {
  readonly setup: RunnableSetup
  readonly rounds: readonly Round[]
  readonly limit: TimeLimit
  readonly isAnew?: boolean
}

/**
 * Budgets whose plans give the tile sizes to measure, where none is asked for, the smallest first.
 */
const usualBudgets: readonly Size[] = [0.15, 0.2, 1 / 3, 0.5].map((fraction) => ({ kind: 'ofPlain', fraction }))

interface PlansToMeasure extends Watching {
  readonly setups: readonly RunnableSetup[]
  readonly built: Pick<SetupGraph, 'objective' | 'source' | 'graph'>
  readonly longestLaunch: LongestLaunch
}

/** Sizes, by every algorithm, that are far from all measured ones. */
const missingSizes =
  ({ longestLaunch, ...wanted }: PlansToMeasure): FindMissing =>
  (device, until) =>
    pipe(
      launchedKernels({ ...wanted, until }, device),
      E.map((launched) =>
        device.sample(
          launched
            .flatMap(({ kernel }) => algorithmVariants(device, kernel))
            .flatMap((kernel) => measurableKernel(device, longestLaunch, kernel))
        )
      )
    )

/** The kernels that the wanted plans launch and that were not measured, but for the longest. */
const missingKernels =
  ({ longestLaunch, ...wanted }: PlansToMeasure): FindMissing =>
  (device, until) =>
    pipe(
      launchedKernels({ ...wanted, until }, device),
      E.map((launched) =>
        launched
          .map(({ kernel }) => kernel)
          .filter((kernel) => device.sourceOf(kernel) !== 'measured' && measurableKernel(device, longestLaunch, kernel).includes(kernel))
      )
    )

/** The share of the work of a convolution that a usual tile of it has. */
const tileShare = 1 / 4

/**
 * Sizes that are far from all measured ones; then those of tiles of the convolutions, and of tiles
 * of them without Winograd, which small budgets have no room for.
 */
const missingSizesWithTiles =
  ({ longestLaunch, setups, ...wanted }: PlansToMeasure): FindMissing =>
  (device, until) =>
    pipe(
      [setups, setups.map((setup): RunnableSetup => ({ ...setup, exactKernels: true }))],
      E.traverseArray((some) =>
        pipe(
          launchedKernels({ ...wanted, setups: some, until }, device),
          E.map((launched) => launched.flatMap(({ kernel }) => measurableKernel(device, longestLaunch, kernel)))
        )
      ),
      E.map(([whole = [], direct = []]) => {
        const tiles = [...whole, ...direct].filter(isConvolution).flatMap((kernel) => smallerKernel(kernel, tileShare) ?? [])
        return device.sample([...whole, ...tiles].flatMap((kernel) => algorithmVariants(device, kernel)))
      })
    )

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

const measureAll = async (
  meter: KernelTimer,
  kernels: readonly Kernel[],
  before: Profile,
  { device, until, onKernel, signal }: Watching & { readonly device: ProfiledModel; readonly until: number }
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
    const kept = await writeProfile(withTimes())()
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

/** Two times of one kernel differ by more where something else used the machine. */
const agreement = 1.2

const oneOfTwo = (first: number, second: number): number => {
  const [less, more] = [Math.min(first, second), Math.max(first, second)]
  return more <= agreement * less ? (less + more) / 2 : less
}

/** The profile with each kernel once: at the mean of two times, or the less of two that disagree. */
const withEachOnce = (profile: Profile): Profile => {
  const times = new Map<string, Profile['kernels'][number]>()
  for (const one of profile.kernels) {
    const key = JSON.stringify(one.kernel)
    const before = times.get(key)
    times.set(key, before === undefined ? one : { ...one, milliseconds: oneOfTwo(before.milliseconds, one.milliseconds) })
  }
  return { ...profile, kernels: [...times.values()] }
}

/**
 * Measures once more what was measured after the first `known` kernels, as far as time is left, and
 * corrects the times: another process that took a core for some seconds seldom does it twice.
 */
const measureAgain = async (
  meter: KernelTimer,
  profile: Profile,
  known: number,
  watching: Watching & { readonly device: ProfiledModel; readonly until: number }
): Promise<E.Either<Failure, Profile>> => {
  const kernels = profile.kernels.slice(known).map(({ kernel }) => kernel as unknown as Kernel)
  const again = await measureAll(meter, kernels, profile, watching)
  const corrected = withEachOnce(again.profile)
  const written = await writeProfile(corrected)()
  return again.failure === undefined ? E.map(() => corrected)(written) : E.left(again.failure)
}

/**
 * Adds what is missing to a profile, round by round, and keeps it after each: first the sizes that
 * matter, then every kernel.
 */
const measureRounds = async (
  meter: KernelTimer,
  { setup, rounds, limit, ...watching }: MeasurementRequest,
  start: Profile
): Promise<E.Either<Failure, Pick<Measured, 'profile' | 'isComplete'>>> => {
  const until = performance.now() + limit.milliseconds
  const refused = new Set<string>()
  let [profile, isComplete] = [start, true]
  for (const [missing, most] of rounds)
    for (let round = 0; round < most; round += 1) {
      if (performance.now() >= until) {
        isComplete = false
        break
      }
      const found = pipe(
        loadDeviceModel(setup, profile),
        E.bindTo('device'),
        E.bind('kernels', ({ device }) => missing(device, until))
      )
      if (E.isLeft(found)) return found
      const { device } = found.right
      const kernels = found.right.kernels.filter((kernel) => !refused.has(keyOfKernel(kernel)))
      if (kernels.length === 0) break
      const measured = await measureAll(meter, kernels, profile, { device, until, ...pickWatching(watching) })
      profile = measured.profile
      isComplete = measured.isComplete
      const written = await writeProfile(profile)()
      if (measured.failure !== undefined) return E.left(measured.failure)
      if (E.isLeft(written)) return written
      measured.refused.forEach((kernel) => refused.add(keyOfKernel(kernel)))
    }
  if (limit.milliseconds === Infinity || profile.kernels.length === start.kernels.length) return E.right({ profile, isComplete })
  return pipe(
    TE.fromEither(loadDeviceModel(setup, profile)),
    TE.chain((device) => () => measureAgain(meter, profile, start.kernels.length, { device, until, ...pickWatching(watching) })),
    TE.map((again) => ({ profile: again, isComplete }))
  )()
}

const measure = (wanted: MeasurementRequest): Outcome<Measurements> => {
  const choice = measurableChoice(wanted.setup)
  if (choice === undefined)
    return TE.left(inputFailure('only the cpu and the cuda device are worth a profile: the reference device computes in plain loops'))
  const { device, threads } = choice
  return pipe(
    TE.Do,
    TE.bind('meter', () => TE.fromEither(E.mapLeft(missingDeviceFailure)(createKernelTimer(choice)))),
    TE.bind('linkBytesPerSecond', ({ meter }) => TE.fromEither(E.mapLeft(deviceFailure)(meter.linkBytesPerSecond()))),
    TE.bind('before', ({ meter: { library }, linkBytesPerSecond }) =>
      pipe(
        wanted.isAnew === true ? E.right(undefined) : readProfile({ device, library, threads }),
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
    // The link's rate is new, whether or not any kernel is.
    TE.chainFirst(({ before }) => writeProfile(before)),
    TE.bind(
      'after',
      ({ meter, before }) =>
        () =>
          measureRounds(meter, wanted, before)
    ),
    TE.map(({ after: { profile, isComplete }, before }) => ({
      profile,
      path: profilePath(profile),
      measured: profile.kernels.length - before.kernels.length,
      isComplete
    }))
  )
}

/** A file of this machine's GPU that holds every answer that these plans ask for. */
const writeDeviceFile = (out: string, wanted: PlansToMeasure, profile: Profile): Outcome<void> => {
  const setup = wanted.setups[0]!
  return pipe(
    loadDeviceModel(setup, profile),
    E.chain((device) => launchedKernels(wanted, device)),
    E.chain(() => E.mapLeft(deviceFailure)(recordGpu(deviceChoice(setup).precision, profile))),
    TE.fromEither,
    TE.chain((file) => writeFileAtomic(out, () => [Buffer.from(`${JSON.stringify(file)}\n`)]))
  )
}

/** The same without a budget, by the strategy that decides nothing. */
const plainSetup = ({ budget: _, plan: _plan, hostBudget: _host, ...setup }: RunnableSetup): RunnableSetup => ({ ...setup, strategy: 'plain' })

/**
 * Measures the kernels of a model's plans (of `plain`, and of the strategy under the budget or
 * under usual ones) and the link, for at most 90 seconds and the most important first, and keeps
 * the times for every later plan on this machine with this library and number of threads. Where
 * Winograd is not refused, plans under the smallest budgets that do without it are sampled too:
 * larger kernels take times as theirs.
 */
export const measureModel = ({ setup, objective, out, isAnew, ...watching }: MeasuredModel): Outcome<Measurements> => {
  const { budget, ...unlimited } = setup
  const plain: RunnableSetup = { ...unlimited, strategy: 'plain' }
  const limited = (budget === undefined ? usualBudgets : [budget]).map((budget): RunnableSetup => ({ ...unlimited, budget }))
  const sampled =
    setup.exactKernels || setup.plan !== undefined ? [] : limited.slice(0, 2).map((one): RunnableSetup => ({ ...one, exactKernels: true }))
  const { longestLaunch } = profileLimit
  return pipe(
    TE.fromEither(buildSetupGraph(setup, objective, imageSource)),
    TE.map((built): PlansToMeasure => ({ setups: [plain, ...limited], built, longestLaunch, ...watching })),
    TE.chain((wanted) =>
      pipe(
        measure({
          setup,
          rounds: [
            [missingSizes({ ...wanted, setups: [...wanted.setups, ...sampled] }), 3],
            [missingKernels(wanted), 6]
          ],
          limit: profileLimit,
          isAnew,
          ...watching
        }),
        TE.chainFirst(({ profile }) => (out === undefined ? TE.right(undefined) : writeDeviceFile(out, wanted, profile)))
      )
    )
  )
}

/** Sizes are taken for known within a factor of four. */
const [nearDistance, knownShare] = [Math.log(4), 0.8]

/** Tells whether most of the time of the plain step is in kernels about whose sizes were measured. */
const isKnown =
  (wanted: PlansToMeasure) =>
  (device: ProfiledModel): E.Either<Failure, boolean> =>
    pipe(
      launchedKernels(wanted, device),
      E.map((launched) => {
        const sums = { known: 0, all: 0 }
        for (const { kernel, milliseconds } of launched) {
          const near = measurableKernel(device, wanted.longestLaunch, kernel).every((one) => device.distanceOf(one) <= nearDistance)
          sums.known += near ? milliseconds : 0
          sums.all += milliseconds
        }
        return sums.known >= knownShare * sums.all
      })
    )

/** Measures the most important kernels of the network, where most of it is unknown. */
const measureSample = (setup: RunnableSetup, built: SetupGraph, watching: Watching): Outcome<void> => {
  const { longestLaunch } = sampleLimit
  const plain: PlansToMeasure = { setups: [plainSetup(setup)], built, longestLaunch, ...watching }
  const rounds: readonly Round[] = [
    [missingSizesWithTiles(plain), 1],
    [missingSizes({ ...plain, setups: [setup] }), 2]
  ]
  return pipe(
    TE.fromEither(pipe(loadDeviceModel(setup), E.chain(isKnown(plain)))),
    TE.chain((known) => {
      if (known) return TE.right(undefined)
      watching.onSample?.(sampleSeconds)
      return pipe(
        measure({ setup, rounds, limit: sampleLimit, ...watching }),
        TE.map(() => undefined)
      )
    })
  )
}

/**
 * Measures what the plan of a setup needs and this machine's profile lacks, where the setup asks
 * for it: all of it, or a sample, which a device of a file and the reference device do without.
 */
export const measureFirst = (built: SetupGraph, watching: Watching): Outcome<void> => {
  const { device, ...setup } = built.setup
  if (setup.measure === undefined) return TE.right(undefined)
  if (setup.measure === 'sample')
    return typeof device !== 'string' || device === 'reference' ? TE.right(undefined) : measureSample({ ...setup, device }, built, watching)
  if (typeof device !== 'string')
    return TE.left(inputFailure(`--measure: ${deviceFileName(device)} is known from a file and cannot be measured here`))
  const here: RunnableSetup = { ...setup, device }
  const wanted: PlansToMeasure = { setups: [here], built, longestLaunch: noLimit.longestLaunch, ...watching }
  return pipe(
    measure({
      setup: here,
      rounds: [
        [missingSizes(wanted), 3],
        [missingKernels(wanted), 6]
      ],
      limit: noLimit,
      ...watching
    }),
    TE.map(() => undefined)
  )
}
