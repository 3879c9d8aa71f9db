import { availableParallelism } from 'node:os'
import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import { type DeviceChoice, type DeviceError, timedPrecision, deviceModel, libraryName } from '../../native'
import {
  type DescribedDevice,
  type DevicePrecision,
  type DeviceModel,
  type Profile,
  type ProfiledModel,
  fileModel,
  isProfile,
  isRecorded,
  withProfile
} from '../../staging'
import { type Failure, deviceFailure, inputFailure } from '../failure'
import { devicePrecisions } from '../options/devices'
import { maxThreads } from '../options/limits'
import type { RunnableSetup, Setup } from './setup'
import { readProfile } from './profile-cache'
import type { Watching } from './watching'

/** The precisions that a device computes in, its default first. */
export const listPrecisions = (device: Setup['device']): readonly DevicePrecision[] => {
  if (typeof device === 'string') return devicePrecisions[device]
  if (isProfile(device)) return [timedPrecision(device.library)]
  return isRecorded(device) ? [device.precision] : ['float32', 'float64']
}

type Choosing = Pick<RunnableSetup, 'device' | 'precision' | 'threads'>

/** A setup's device as native has it; what a GPU does depends on no threads. */
export const deviceChoice = ({ device, precision = devicePrecisions[device][0], threads }: Choosing) =>
  ({
    device,
    precision,
    threads: threads ?? (device === 'cuda' ? 1 : availableParallelism())
  }) as const

/** A device that this machine has not is none of our bugs. */
export const missingDeviceFailure = ({ code, message }: DeviceError): Failure =>
  deviceFailure({ code: code === 'device' ? 'missing' : code, message })

/**
 * The choice of a device whose kernels are measured: not of the reference device, which computes in
 * plain loops.
 */
export const measurableChoice = (setup: Choosing): DeviceChoice | undefined => {
  const { device, ...choice } = deviceChoice(setup)
  return device === 'reference' ? undefined : { device, ...choice }
}

const modelOfFile = (file: DescribedDevice, { precision, threads }: Setup): ProfiledModel => {
  const base = fileModel(file, precision === 'float64' ? 'float64' : 'float32', threads)
  return isRecorded(file) ? withProfile(base, file) : withoutProfile(base)
}

/**
 * The cpu of a profile, wherever it was measured: with its times and threads, and the layouts and
 * scratch of this machine's library.
 */
const modelOfProfile = (measured: Profile, { threads = measured.threads, ...setup }: Setup): E.Either<Failure, ProfiledModel> =>
  measured.threads > maxThreads
    ? E.left(inputFailure(`the cpu of this file was measured with ${measured.threads} threads, over the ${maxThreads} that a device takes`))
    : threads === measured.threads
      ? loadDeviceModel({ ...setup, device: 'cpu', precision: timedPrecision(measured.library), threads }, { measured })
      : E.left(inputFailure(`--threads ${threads}: the cpu of this file was measured with ${measured.threads}; leave --threads out`))

/**
 * The device of a setup as staging sees it: with the times of `measured`, or of this machine's
 * profile where there is one; who watches is told of a damaged one.
 */
export const loadDeviceModel = (
  setup: Setup,
  { measured, ...watching }: Watching & { readonly measured?: Profile } = {}
): E.Either<Failure, ProfiledModel> => {
  const { device } = setup
  if (typeof device !== 'string') return isProfile(device) ? modelOfProfile(device, setup) : E.right(modelOfFile(device, setup))
  const here = { ...setup, device }
  return pipe(
    E.Do,
    E.bind('base', () => {
      const { precision, threads } = deviceChoice(here)
      return E.mapLeft(missingDeviceFailure)(deviceModel(device, precision, threads))
    }),
    E.bind('profile', () => {
      const choice = measurableChoice(here)
      if (choice === undefined) return E.right(undefined)
      if (measured !== undefined) return E.right(measured)
      return E.bimap(missingDeviceFailure, (library: string) => readProfile({ ...choice, library }, watching))(libraryName(choice))
    }),
    E.map(({ base, profile }) => (profile === undefined ? withoutProfile(base) : withProfile(base, profile)))
  )
}

const withoutProfile = (base: DeviceModel): ProfiledModel => withProfile(base, { kernels: [], linkBytesPerSecond: base.linkBytesPerSecond })
