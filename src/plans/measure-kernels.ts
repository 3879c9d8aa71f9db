import { setImmediate } from 'node:timers/promises'
import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { type KernelTimer, createKernelTimer, recordGpu } from '../../native'
import {
  type DeviceModel,
  type Kernel,
  type Objective,
  type Profile,
  type ProfiledModel,
  deviceFileName,
  isConvolution,
  keyOfKernel,
  stageGraph
} from '../../staging'
import { deviceChoice, loadDeviceModel, measurableChoice, missingDeviceFailure } from './device'
import { launchCounts } from './program-statistics'
import { pickWatching, type Watching } from './watching'
import { type Failure, type Outcome, deviceFailure, inputFailure } from '../failure'
import { type SetupGraph, buildSetupGraph, imageSource, planRequest, stagingFailure } from './plan-network'
import type { RunnableSetup } from './setup'
import { profilePath, readProfile, writeProfile } from './profile-cache'
import type { Size } from '../options/sizes'
import { writeFileAtomic } from '../files/atomic-write'

/** A model on a device, whose kernels are to be measured. */
interface MeasuredModel extends Watching {
  readonly setup: RunnableSetup
  readonly objective: Objective
  /**
   * A *.json file to write of the GPU, from which the same plans are made elsewhere; of cuda alone.
   */
  readonly out: string | undefined
}

interface Measurements {
  readonly profile: Profile
  /** Path of the file of measured times. */
  readonly path: string
  /** Kernels that this run measured. */
  readonly measured: number
}

/** Plans whose kernels are wanted: all are of one graph on one device. */
interface MeasurementRequest extends Watching {
  /** Every kernel of these plans is measured. */
  readonly setups: readonly [RunnableSetup, ...(readonly RunnableSetup[])]
  /** Setups of whose kernels only as many are measured as tell the others' times. */
  readonly sampled: readonly RunnableSetup[]
  readonly built: Pick<SetupGraph, 'objective' | 'source' | 'graph'>
}

/**
 * Budgets whose plans give the tile sizes to measure, where none is asked for, the smallest first.
 */
const usualBudgets: readonly Size[] = [0.15, 0.2, 1 / 3, 0.5].map((fraction) => ({ kind: 'ofPlain', fraction }))

/** New times may make another plan best, whose kernels are then measured too. */
const [maxSamplings, maxRounds] = [3, 6]

/** A kernel by every algorithm that the device has for it. */
const algorithmVariants = ({ algorithms }: DeviceModel, kernel: Kernel): readonly Kernel[] => {
  if (algorithms === undefined || !isConvolution(kernel)) return [kernel]
  const direct = { ...kernel, algorithm: 0 }
  const others = algorithms(direct).filter(({ algorithm }) => algorithm !== 0)
  return [direct, ...others.map(({ algorithm }) => ({ ...kernel, algorithm }))]
}

/** The kernels that plans launch, those first that take the most of the plans' predicted time. */
const launchedKernels = (
  setups: readonly RunnableSetup[],
  { built, ...watching }: MeasurementRequest,
  device: ProfiledModel
): E.Either<Failure, readonly Kernel[]> => {
  const launched = new Map<string, { readonly kernel: Kernel; readonly milliseconds: number }>()
  for (const setup of setups) {
    const staged = pipe(
      planRequest({ ...built, setup }, { known: device, ...pickWatching(watching) }),
      E.chain((request) => E.mapLeft(stagingFailure)(stageGraph(built.graph, request)))
    )
    if (E.isLeft(staged)) {
      // A budget that nothing fits has no kernels.
      if (staged.left.code === 'budget') continue
      return staged
    }
    const { program } = staged.right
    for (const [index, count] of launchCounts(program.step)) {
      const kernel = program.kernels[index]!
      const before = launched.get(keyOfKernel(kernel))?.milliseconds ?? 0
      launched.set(keyOfKernel(kernel), { kernel, milliseconds: before + count * device.milliseconds(kernel) })
    }
  }
  return E.right([...launched.values()].sort((a, b) => b.milliseconds - a.milliseconds).map(({ kernel }) => kernel))
}

/** Kernels to measure by what is known so far. */
type FindMissing = (device: ProfiledModel) => E.Either<Failure, readonly Kernel[]>

/** Sizes, by every algorithm, that are far from all measured ones: in the plans of all setups. */
const missingSizes =
  (wanted: MeasurementRequest): FindMissing =>
  (device) =>
    pipe(
      launchedKernels([...wanted.setups, ...wanted.sampled], wanted, device),
      E.map((kernels) => device.sample(kernels.flatMap((kernel) => algorithmVariants(device, kernel))))
    )

/** The kernels that the wanted plans launch and that were not measured. */
const missingKernels =
  (wanted: MeasurementRequest): FindMissing =>
  (device) =>
    pipe(
      launchedKernels(wanted.setups, wanted, device),
      E.map((kernels) => kernels.filter((kernel) => device.sourceOf(kernel) !== 'measured'))
    )

/** A profile with what was added to it, and why there was no more. */
interface Measured {
  readonly profile: Profile
  /**
   * Kernels that do not fit the device's memory, or that its library refuses: left to the model.
   */
  readonly refused: readonly Kernel[]
  readonly failure?: Failure
}

/**
 * Milliseconds of measuring that a process that is killed may lose: an interrupt does not wait for
 * a kernel that takes long.
 */
const keptEveryMilliseconds = 2000

const measureAll = async (
  meter: KernelTimer,
  kernels: readonly Kernel[],
  before: Profile,
  { onKernel, signal }: Watching
): Promise<Measured> => {
  const times: { readonly kernel: Profile['kernels'][number]['kernel']; readonly milliseconds: number }[] = []
  const withTimes = (): Profile => ({ ...before, kernels: [...before.kernels, ...times] })
  const refused: Kernel[] = []
  let refusal: Failure | undefined
  let keptAt = performance.now()
  for (let done = 0; done < kernels.length; done += meter.together) {
    // Lets an interrupt in, which a measurement blocks.
    await setImmediate()
    if (signal?.aborted) {
      const message = `interrupted after ${done} of ${kernels.length} kernels, whose times are kept`
      return { profile: withTimes(), refused, failure: { code: 'interrupted', message } }
    }
    const some = kernels.slice(done, done + meter.together)
    const answers = meter.milliseconds(some)
    if (E.isLeft(answers)) return { profile: withTimes(), refused, failure: deviceFailure(answers.left) }
    some.forEach((kernel, index) => {
      const answer = answers.right[index]!
      if (typeof answer === 'number') times.push({ kernel: { ...kernel }, milliseconds: answer })
      else {
        refused.push(kernel)
        refusal = deviceFailure({ code: 'device', message: answer })
      }
      onKernel?.(done + index + 1, kernels.length, kernel)
    })
    if (performance.now() - keptAt < keptEveryMilliseconds) continue
    const kept = await writeProfile(withTimes())()
    if (E.isLeft(kept)) return { profile: withTimes(), refused, failure: kept.left }
    keptAt = performance.now()
  }
  return { profile: withTimes(), refused, ...(refusal !== undefined && withTimes().kernels.length === 0 && { failure: refusal }) }
}

/**
 * Adds what is missing to a profile, round by round, and keeps it after each: first the sizes that
 * matter, then every kernel.
 */
const measureRounds = async (meter: KernelTimer, wanted: MeasurementRequest, start: Profile): Promise<E.Either<Failure, Profile>> => {
  const refused = new Set<string>()
  let profile = start
  for (const [missing, most] of [
    [missingSizes(wanted), maxSamplings],
    [missingKernels(wanted), maxRounds]
  ] as const)
    for (let round = 0; round < most; round += 1) {
      const found = pipe(loadDeviceModel(wanted.setups[0], profile), E.chain(missing))
      if (E.isLeft(found)) return found
      const kernels = found.right.filter((kernel) => !refused.has(keyOfKernel(kernel)))
      if (kernels.length === 0) break
      const measured = await measureAll(meter, kernels, profile, wanted)
      profile = measured.profile
      const written = await writeProfile(profile)()
      if (measured.failure !== undefined) return E.left(measured.failure)
      if (E.isLeft(written)) return written
      measured.refused.forEach((kernel) => refused.add(keyOfKernel(kernel)))
    }
  return E.right(profile)
}

const measure = (wanted: MeasurementRequest): Outcome<Measurements> => {
  const choice = measurableChoice(wanted.setups[0])
  if (choice === undefined)
    return TE.left(inputFailure('only the cpu and the cuda device are worth a profile: the reference device computes in plain loops'))
  const { device, threads } = choice
  return pipe(
    TE.Do,
    TE.bind('meter', () => TE.fromEither(E.mapLeft(missingDeviceFailure)(createKernelTimer(choice)))),
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
    // The link's rate is new, whether or not any kernel is.
    TE.chainFirst(({ before }) => writeProfile(before)),
    TE.bind(
      'profile',
      ({ meter, before }) =>
        () =>
          measureRounds(meter, wanted, before)
    ),
    TE.map(({ profile, before }) => ({
      profile,
      path: profilePath(profile),
      measured: profile.kernels.length - before.kernels.length
    }))
  )
}

/** A file of this machine's GPU that holds every answer that these plans ask for. */
const writeDeviceFile = (out: string, wanted: MeasurementRequest, profile: Profile): Outcome<void> => {
  const [setup] = wanted.setups
  return pipe(
    loadDeviceModel(setup, profile),
    E.chain((device) => launchedKernels(wanted.setups, wanted, device)),
    E.chain(() => E.mapLeft(deviceFailure)(recordGpu(deviceChoice(setup).precision, profile))),
    TE.fromEither,
    TE.chain((file) => writeFileAtomic(out, () => [Buffer.from(`${JSON.stringify(file)}\n`)]))
  )
}

/**
 * Measures the kernels of a model's plans (of `plain`, and of the strategy under the budget or
 * under usual ones) and the link, and keeps the times for every later plan on this machine with
 * this library and number of threads. Where Winograd is not refused, plans under the smallest
 * budgets that do without it are sampled too: larger kernels take times as theirs.
 */
export const measureModel = ({ setup, objective, out, ...watching }: MeasuredModel): Outcome<Measurements> => {
  const { budget, ...unlimited } = setup
  const plain: RunnableSetup = { ...unlimited, strategy: 'plain' }
  const limited = (budget === undefined ? usualBudgets : [budget]).map((budget): RunnableSetup => ({ ...unlimited, budget }))
  const sampled =
    setup.exactKernels || setup.plan !== undefined ? [] : limited.slice(0, 2).map((one): RunnableSetup => ({ ...one, exactKernels: true }))
  return pipe(
    TE.fromEither(buildSetupGraph(setup, objective, imageSource)),
    TE.map((built): MeasurementRequest => ({ setups: [plain, ...limited], sampled, built, ...watching })),
    TE.chain((wanted) =>
      pipe(
        measure(wanted),
        TE.chainFirst(({ profile }) => (out === undefined ? TE.right(undefined) : writeDeviceFile(out, wanted, profile)))
      )
    )
  )
}

/**
 * Measures what the plan of a setup needs and this machine's profile lacks, where the setup asks
 * for it.
 */
export const measureFirst = (built: SetupGraph, watching: Watching): Outcome<void> => {
  const { device, ...setup } = built.setup
  if (setup.measure !== true) return TE.right(undefined)
  if (typeof device !== 'string')
    return TE.left(inputFailure(`--measure: ${deviceFileName(device)} is known from a file and cannot be measured here`))
  return pipe(
    measure({ setups: [{ ...setup, device }], sampled: [], built, ...watching }),
    TE.map(() => undefined)
  )
}
