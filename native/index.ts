import * as E from 'fp-ts/Either'
import type { DeviceModel } from '../staging/devices/device-model'
import type { DevicePrecision } from '../staging/kernels/precision'
import { referenceModel } from '../staging/devices/reference-model'
import { cpuModel } from './cpu-model'
import { cudaModel } from './cuda-model'
import { deviceError, type DeviceError } from './error'
import type { DeviceName } from './addon'

export { availableMemory, mathOf, versions, type DeviceChoice, type DeviceName, type MathMode, type Versions } from './addon'
export type { DeviceError } from './error'
export { addonFolders } from './addon-file'
export { recordedGpu } from './cuda-model'
export { watchInterrupts, type Wait } from './interrupts'
export { libraryName, createKernelTimer, type KernelTimer } from './kernel-timer'
export { lockFile, unlockFile, type FileLock } from './locks'
export { freePixels, mapPixels, type MappedPixels } from './pixels'
export type { SectionName } from '../staging/program/program'
export {
  openSession,
  type Image,
  type ReadPixels,
  type Session,
  type SessionOptions,
  type StepParameters,
  type ImageWindow
} from './session'

/** What staging must know of a device; only the reference device does without the addon. */
export const deviceModel = (device: DeviceName, precision: DevicePrecision, threads: number): E.Either<DeviceError, DeviceModel> => {
  if (device === 'cuda') return cudaModel(threads, precision)
  if (device === 'reference' && precision !== 'tf32') return E.right(referenceModel(precision))
  if (device === 'cpu' && precision === 'float32') return cpuModel(threads)
  return E.left(deviceError('device', `the ${device} device does not compute in ${precision}: use another device`))
}
