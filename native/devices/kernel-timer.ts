import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import * as t from 'io-ts'
import type { Kernel } from '../../staging/kernels/kernels'
import { deviceProperties, openDevice, versions, type DeviceChoice } from '../addon/addon'
import type { CpuPrecision } from './cpu-model'
import { encodeKernels } from '../session/encode'
import { decodeAnswer, type DeviceError } from '../addon/error'

const timesAnswer = decodeAnswer(t.readonlyArray(t.union([t.number, t.string]), 'times'))
const linkAnswer = decodeAnswer(t.readonly(t.type({ toDevice: t.number, toHost: t.number }), 'rates of the link'))

/**
 * Kernels that one call measures: a GPU takes memory for all of them at once, and some milliseconds
 * for each.
 */
const together = { cpu: 1, cuda: 32 } as const

/**
 * Times single kernels on a device; each call blocks for some tens of milliseconds, or three
 * launches of each.
 */
export interface KernelTimer {
  /** The library on which times depend beside kernel and threads: see libraryName. */
  readonly library: string
  /** Number of kernels that are best measured in one call. */
  readonly together: number
  /** Measures kernels: for each the milliseconds of a launch, or why the device has none. */
  readonly milliseconds: (kernels: readonly Kernel[]) => E.Either<DeviceError, readonly (number | string)[]>
  readonly linkBytesPerSecond: () => E.Either<DeviceError, { readonly toDevice: number; readonly toHost: number }>
}

const inBf16 = 'in bf16'

/**
 * Returns the name under which times are kept: of the cpu its library, version and instruction set,
 * and its precision where it is not float32; of a GPU its libraries, its name and its precision.
 */
export const libraryName = (choice: DeviceChoice): E.Either<DeviceError, string> =>
  choice.device === 'cpu'
    ? pipe(
        versions(),
        E.map(({ library, version, instructionSet }) =>
          [library, version, instructionSet, ...(choice.precision === 'bf16' ? [inBf16] : [])].join(' ')
        )
      )
    : pipe(
        openDevice(choice),
        E.chain(deviceProperties),
        E.map(({ library, name }) => `${library} on ${name} in ${choice.precision}`)
      )

/** The precision in which times under a name of a cpu's library were measured. */
export const timedPrecision = (library: string): CpuPrecision => (library.endsWith(inBf16) ? 'bf16' : 'float32')

/**
 * Opens a device to time kernels on. Fails with code `missing` or `device` where that cannot be.
 */
export const createKernelTimer = (choice: DeviceChoice): E.Either<DeviceError, KernelTimer> =>
  pipe(
    E.Do,
    E.bind('library', () => libraryName(choice)),
    E.bind('device', () => openDevice(choice)),
    E.map(({ library, device }) => ({
      library,
      together: together[choice.device],
      milliseconds: (kernels) => timesAnswer(device.milliseconds(encodeKernels(kernels))),
      linkBytesPerSecond: () => linkAnswer(device.linkBytesPerSecond())
    }))
  )
