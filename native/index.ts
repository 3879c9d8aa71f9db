import * as E from 'fp-ts/Either'
import type { DeviceModel } from '../staging/devices/device-model'
import type { DevicePrecision } from '../staging/kernels/precision'
import { referenceModel } from '../staging/devices/reference-model'
import { cpuModel } from './devices/cpu-model'
import { cudaModel } from './devices/cuda-model'
import { deviceError, type DeviceError } from './addon/error'
import type { DeviceName } from './addon/addon'

export { addonHash, availableMemory, mathMode, versions, type DeviceChoice, type DeviceName, type MathMode } from './addon/addon'
export type { DeviceError } from './addon/error'
export { addonFolders, checkNode } from './addon/addon-file'
export { recordGpu } from './devices/cuda-model'
export { timedPrecision, libraryName, createKernelTimer, type KernelTimer } from './devices/kernel-timer'
export { mapBuffer, type DiskBuffer } from './system/disk-buffer'
export { lockFile, unlockFile, type FileLock } from './system/locks'
export { freePixels, mapPixels, type MappedPixels } from './system/pixels'
export { localNetworks, openNetwork, type MpiKind, type Network } from './network/network'
export { openSlide, type Slide } from './system/slides'
export type { SectionName } from '../staging/program/program'
export { type PixelType, type Image, type ReadPixels, type ImageWindow } from './session/image'
export { openSession, type Session, type StepParameters } from './session/session'
export { copyTensors, createStepIo, partBytes, type MemoryStepIo, type Numbers, type StepIo } from './session/step-io'

/** Returns the model of a device for staging; only the reference device does without the addon. */
export const deviceModel = (device: DeviceName, precision: DevicePrecision, threads: number): E.Either<DeviceError, DeviceModel> => {
  if (device === 'cuda') return cudaModel(threads, precision)
  if (device === 'reference' && precision !== 'tf32') return E.right(referenceModel(precision))
  if (device === 'cpu' && (precision === 'float32' || precision === 'bf16')) return cpuModel(threads, precision)
  return E.left(deviceError('device', `the ${device} device does not compute in ${precision}: use another device`))
}
