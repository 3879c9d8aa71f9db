import * as E from 'fp-ts/Either'
import type { DeviceModel } from '../staging/device-model'
import type { Precision } from '../staging/program'
import { referenceModel } from '../staging/reference-model'
import { cpuModel } from './cpu-model'
import { cudaModel } from './cuda-model'
import { deviceError, type DeviceError } from './error'
import type { DeviceName, MathMode } from './addon'

export { versions, type DeviceName, type MathMode, type Versions } from './addon'
export type { DeviceError } from './error'
export { recordedGpu } from './cuda-model'
export { libraryName, openMeter, type Meter } from './meter'
export type { SectionName } from '../staging/program'
export { openSession, type Image, type Session, type SessionOptions, type StepParameters } from './session'

/** What staging must know of a device; only the reference device does without the addon. `math` is of the cuda device alone. */
export const deviceModel = (
  device: DeviceName,
  precision: Precision,
  threads: number,
  math: MathMode = 'float32'
): E.Either<DeviceError, DeviceModel> => {
  if (device === 'reference') return E.right(referenceModel(precision))
  if (precision !== 'float32')
    return E.left(deviceError('device', `the ${device} device computes in float32 only: use the reference device for float64`))
  return device === 'cpu' ? cpuModel(threads) : cudaModel(threads, math)
}
