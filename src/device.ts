import { availableParallelism } from 'node:os'
import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import { deviceModel, libraryName } from '../native'
import {
  type DeviceModel,
  type Instruction,
  type Profile,
  type Program,
  type ProfiledModel,
  type Section,
  type TimeSource,
  fileModel,
  profiled
} from '../staging'
import { type Failure, deviceFailure } from './failure'
import type { Setup } from './planning'
import { readProfile } from './profile-cache'

export const threadsOf = ({ threads }: Pick<Setup, 'threads'>): number => threads ?? availableParallelism()

/** The device of a setup as staging sees it: with the times of `measured`, or of this machine's profile where there is one. */
export const deviceOf = (setup: Setup, measured?: Profile): E.Either<Failure, ProfiledModel> => {
  const { device, precision } = setup
  if (typeof device !== 'string') return E.right(unmeasured(fileModel(device, precision ?? 'float32')))
  return pipe(
    E.Do,
    E.bind('base', () =>
      E.mapLeft(deviceFailure)(deviceModel(device, precision ?? (device === 'cpu' ? 'float32' : 'float64'), threadsOf(setup)))
    ),
    E.bind('profile', ({ base }) => {
      if (device !== 'cpu') return E.right(undefined)
      if (measured !== undefined) return E.right(measured)
      return pipe(
        E.mapLeft(deviceFailure)(libraryName()),
        E.chain((library) => readProfile({ library, threads: base.threads }))
      )
    }),
    E.map(({ base, profile }) => (profile === undefined ? unmeasured(base) : profiled(base, profile)))
  )
}

const unmeasured = (base: DeviceModel): ProfiledModel => ({ ...base, sourceOf: () => 'roofline' })

/** How often a section launches each kernel. */
export const launchCounts = ({ code: all }: Section): ReadonlyMap<number, number> => {
  const counts = new Map<number, number>()
  const walk = (code: readonly Instruction[], times: number): void => {
    for (const one of code)
      if (one.kind === 'loop') walk(one.body, times * one.count)
      else if (one.kind === 'launch') counts.set(one.kernel, (counts.get(one.kernel) ?? 0) + times)
  }
  walk(all, 1)
  return counts
}

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
