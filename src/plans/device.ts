import { availableParallelism } from 'node:os'
import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import { type DeviceChoice, type DeviceError, type DeviceName, deviceModel, libraryName } from '../../native'
import {
  type DescribedDevice,
  type DevicePrecision,
  type DeviceModel,
  type Instruction,
  type Profile,
  type Program,
  type ProfiledModel,
  type Section,
  type TimeSource,
  fileModel,
  isProfile,
  isRecorded,
  profiled
} from '../../staging'
import { type Failure, deviceFailure, inputFailure } from '../failure'
import { mostThreads } from '../options/limits'
import type { RunnableSetup, Setup } from './setup'
import { readProfile } from './profile-cache'

/**
 * What each device computes in, the default first. TF32: float32 values, of which products see 10 bits of mantissa. bf16: activations of
 * 8 bits of mantissa in two bytes, all else float32.
 */
export const devicePrecisions = {
  cpu: ['float32'],
  cuda: ['float32', 'tf32', 'bf16'],
  reference: ['float64', 'float32', 'bf16']
} as const satisfies { readonly [D in DeviceName]: readonly DevicePrecision[] }

/** Those of this machine that compute in it. */
export const devicesOf = (precision: DevicePrecision): readonly string[] =>
  Object.entries<readonly DevicePrecision[]>(devicePrecisions).flatMap(([name, precisions]) =>
    precisions.includes(precision) ? [name] : []
  )

export const precisionsOf = (device: Setup['device']): readonly DevicePrecision[] => {
  if (typeof device === 'string') return devicePrecisions[device]
  if (isProfile(device)) return devicePrecisions.cpu
  return isRecorded(device) ? [device.precision] : ['float32', 'float64']
}

type Choosing = Pick<RunnableSetup, 'device' | 'precision' | 'threads'>

/** A setup's device as native has it; what a GPU does depends on no threads. */
export const choiceOf = ({ device, precision = devicePrecisions[device][0], threads }: Choosing) =>
  ({
    device,
    precision,
    threads: threads ?? (device === 'cuda' ? 1 : availableParallelism())
  }) as const

/** A device that this machine has not is none of our bugs. */
export const notThere = ({ code, message }: DeviceError): Failure => deviceFailure({ code: code === 'device' ? 'missing' : code, message })

/** A profiled device's choice: the reference device computes in plain loops, which nobody measures. */
export const measuredChoice = (setup: Choosing): DeviceChoice | undefined => {
  const { device, ...choice } = choiceOf(setup)
  return device === 'reference' ? undefined : { device, ...choice }
}

const modelOfFile = (file: DescribedDevice, { precision, threads }: Setup): ProfiledModel => {
  const base = fileModel(file, precision === 'float64' ? 'float64' : 'float32', threads)
  return isRecorded(file) ? profiled(base, file) : unmeasured(base)
}

/** The cpu of a profile, wherever it was measured: with its times and threads, and the layouts and scratch of this machine's library. */
const profiledCpu = (measured: Profile, { threads = measured.threads, ...setup }: Setup): E.Either<Failure, ProfiledModel> =>
  measured.threads > mostThreads
    ? E.left(
        inputFailure(`the cpu of this file was measured with ${measured.threads} threads, over the ${mostThreads} that a device takes`)
      )
    : threads === measured.threads
      ? deviceOf({ ...setup, device: 'cpu', threads }, measured)
      : E.left(inputFailure(`--threads ${threads}: the cpu of this file was measured with ${measured.threads}; leave --threads out`))

/** The device of a setup as staging sees it: with the times of `measured`, or of this machine's profile where there is one. */
export const deviceOf = (setup: Setup, measured?: Profile): E.Either<Failure, ProfiledModel> => {
  const { device } = setup
  if (typeof device !== 'string') return isProfile(device) ? profiledCpu(device, setup) : E.right(modelOfFile(device, setup))
  const here = { ...setup, device }
  return pipe(
    E.Do,
    E.bind('base', () => {
      const { precision, threads } = choiceOf(here)
      return E.mapLeft(notThere)(deviceModel(device, precision, threads))
    }),
    E.bind('profile', () => {
      const choice = measuredChoice(here)
      if (choice === undefined) return E.right(undefined)
      if (measured !== undefined) return E.right(measured)
      return pipe(
        E.mapLeft(notThere)(libraryName(choice)),
        E.chain((library) => readProfile({ ...choice, library }))
      )
    }),
    E.map(({ base, profile }) => (profile === undefined ? unmeasured(base) : profiled(base, profile)))
  )
}

const unmeasured = (base: DeviceModel): ProfiledModel => profiled(base, { kernels: [], linkBytesPerSecond: base.linkBytesPerSecond })

type Launch = Extract<Instruction, { readonly kind: 'launch' }>

/** How often a section launches each kernel; of these launches alone, where there is `which`. */
export const launchCounts = ({ code: all }: Section, which: (launch: Launch) => boolean = () => true): ReadonlyMap<number, number> => {
  const counts = new Map<number, number>()
  const walk = (code: readonly Instruction[], times: number): void => {
    for (const one of code)
      if (one.kind === 'loop') walk(one.body, times * one.count)
      else if (one.kind === 'launch' && which(one)) counts.set(one.kernel, (counts.get(one.kernel) ?? 0) + times)
  }
  walk(all, 1)
  return counts
}

/** Bytes that a section moves between device and host. */
export const movedBytes = ({ code }: Pick<Section, 'code'>): number =>
  code.reduce((sum, one) => {
    if (one.kind === 'loop') return sum + one.count * movedBytes({ code: one.body })
    return one.kind === 'copy' ? sum + one.rows * one.rowBytes : sum
  }, 0)

/** Of a step's predicted time, the share that each source of times stands for. */
export type TimeShares = { readonly [S in TimeSource]: number }

export const timeShares = (program: Program, device: ProfiledModel): TimeShares => {
  const sums = { measured: 0, near: 0, far: 0, roofline: 0 }
  for (const [index, count] of launchCounts(program.step)) {
    const kernel = program.kernels[index]!
    sums[device.sourceOf(kernel)] += count * device.milliseconds(kernel)
  }
  const total = Object.values(sums).reduce((sum, value) => sum + value, 0) || 1
  return { measured: sums.measured / total, near: sums.near / total, far: sums.far / total, roofline: sums.roofline / total }
}
