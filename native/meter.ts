import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import * as t from 'io-ts'
import { encodeKernel, type Kernel } from '../staging/kernels'
import { deviceProperties, openDevice, versions, type DeviceChoice } from './addon'
import { answerOf, type DeviceError } from './error'

const numberAnswer = answerOf(t.number)
const linkAnswer = answerOf(t.readonly(t.type({ toDevice: t.number, toHost: t.number }), 'rates of the link'))

/** Times single kernels on a device; each call blocks for some tens of milliseconds, or three launches. */
export interface Meter {
  /** What times depend on beside kernel and threads: see libraryName. */
  readonly library: string
  readonly milliseconds: (kernel: Kernel) => E.Either<DeviceError, number>
  readonly linkBytesPerSecond: () => E.Either<DeviceError, { readonly toDevice: number; readonly toHost: number }>
}

/** Of the cpu: library, version and instruction set; of a GPU its libraries, its name, and what products are computed in. */
export const libraryName = (choice: DeviceChoice): E.Either<DeviceError, string> =>
  choice.device === 'cpu'
    ? pipe(
        versions(),
        E.map(({ library, version, instructionSet }) => [library, version, instructionSet].join(' '))
      )
    : pipe(
        openDevice(choice),
        E.chain(deviceProperties),
        E.map(({ library, name }) => `${library} on ${name} in ${choice.math}`)
      )

export const openMeter = (choice: DeviceChoice): E.Either<DeviceError, Meter> =>
  pipe(
    E.Do,
    E.bind('library', () => libraryName(choice)),
    E.bind('device', () => openDevice(choice)),
    E.map(({ library, device }) => ({
      library,
      milliseconds: (kernel) => numberAnswer(device.milliseconds(Float64Array.from(encodeKernel(kernel)))),
      linkBytesPerSecond: () => linkAnswer(device.linkBytesPerSecond())
    }))
  )
