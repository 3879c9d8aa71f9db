import * as E from 'fp-ts/Either'
import type { DeviceModel } from '../staging/device-model'
import type { Precision } from '../staging/program'
import { referenceModel } from '../staging/reference-model'
import { cpuModel } from './cpu-model'
import { deviceError, type DeviceError } from './error'
import type { DeviceName } from './session'

export { versions, type Versions } from './addon'
export type { DeviceError } from './error'
export { libraryName, openMeter, type Meter } from './meter'
export type { SectionName } from '../staging/program'
export { openSession, type DeviceName, type Image, type Session, type SessionOptions, type StepParameters } from './session'

/** What staging must know of a device; only the cpu device needs the addon for it. */
export const deviceModel = (device: DeviceName, precision: Precision, threads: number): E.Either<DeviceError, DeviceModel> => {
  if (device === 'reference') return E.right(referenceModel(precision))
  if (device === 'cuda') return E.left(deviceError('device', 'this build of Tilefold has no device cuda'))
  return precision === 'float32'
    ? cpuModel(threads)
    : E.left(deviceError('device', 'the cpu device computes in float32 only: use the reference device for float64'))
}
