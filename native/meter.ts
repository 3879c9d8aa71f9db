import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import * as t from 'io-ts'
import { encodeKernel, type Kernel } from '../staging/kernels'
import { openCpuDevice, versions } from './addon'
import { answerOf, type DeviceError } from './error'

const numberAnswer = answerOf(t.number)

/** Times single kernels on the cpu device; each call blocks for some tens of milliseconds, or three launches. */
export interface Meter {
  /** Library, version and instruction set: what times depend on beside kernel and threads. */
  readonly library: string
  readonly milliseconds: (kernel: Kernel) => E.Either<DeviceError, number>
  readonly linkBytesPerSecond: () => E.Either<DeviceError, number>
}

export const libraryName = (): E.Either<DeviceError, string> =>
  E.map(({ library, version, instructionSet }: { readonly library: string; readonly version: string; readonly instructionSet: string }) =>
    [library, version, instructionSet].join(' ')
  )(versions())

export const openMeter = (threads: number): E.Either<DeviceError, Meter> =>
  pipe(
    E.Do,
    E.bind('library', libraryName),
    E.bind('device', () => openCpuDevice(threads)),
    E.map(({ library, device }) => ({
      library,
      milliseconds: (kernel) => numberAnswer(device.milliseconds(Float64Array.from(encodeKernel(kernel)))),
      linkBytesPerSecond: () => numberAnswer(device.linkBytesPerSecond())
    }))
  )
