import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import type { ConvolutionShape, DeviceModel } from '../../staging/devices/device-model'
import { isConvolution, keyOfKernel, type Kernel } from '../../staging/kernels/kernels'
import { layoutCode } from '../../staging/kernels/layout'
import { memoize } from '../../staging/memoize'
import { elementSizes } from '../../staging/kernels/precision'
import { roofline, type Rates } from '../../staging/kernels/roofline'
import { openDevice, versions, type NativeDevice } from '../addon/addon'
import { unwrapAnswer, probeConvolution, bytesAnswer, encodeToFloats, queryLayouts } from './device-answers'
import type { DeviceError } from '../addon/error'

/** What the cpu device computes in. */
export type CpuPrecision = 'float32' | 'bf16'

/** Of one core; products of bf16 have instructions of their own with AVX-512 BF16 alone. */
const flopsOf = (instructionSet: string, precision: CpuPrecision): number => {
  if (precision === 'bf16' && /bf16|amx/.test(instructionSet)) return 2.1e11
  return instructionSet.startsWith('avx512') ? 1.05e11 : instructionSet.startsWith('avx2') ? 5e10 : 1e10
}

/**
 * Rough rates of one core of each kind in the kernels that matter; a measured profile takes this
 * place.
 */
const ratesOf = (instructionSet: string, precision: CpuPrecision, threads: number): Rates => ({
  flopsPerSecond: threads * flopsOf(instructionSet, precision),
  bytesPerSecond: Math.min(threads, 4) * 1.2e10,
  launchSeconds: 5e-6
})

const modelOf = (device: NativeDevice, precision: CpuPrecision, rates: Rates, threads: number): DeviceModel => {
  const layouts = queryLayouts(device)
  // A copy reads and writes each byte.
  const copyRates = { toDevice: rates.bytesPerSecond / 2, toHost: rates.bytesPerSecond / 2 }
  /** Asked for its scratch, a device refuses the kernels that it does not have. */
  const byWinograd = (shape: ConvolutionShape): Kernel => {
    const { top, bottom, left, right } = shape.padding
    const unpadded = probeConvolution(shape, layouts.activationLayout(shape.outChannels, false))
    return {
      ...unpadded,
      inHeight: unpadded.inHeight - top - bottom,
      inWidth: unpadded.inWidth - left - right,
      padTop: top,
      padBottom: bottom,
      padLeft: left,
      padRight: right,
      weightLayout: layoutCode('winogradForward'),
      algorithm: 1
    }
  }
  return {
    ...layouts,
    name: 'cpu',
    precision,
    threads,
    winograd: memoize(
      (shape) => keyOfKernel(byWinograd(shape)),
      (shape) => E.isRight(bytesAnswer(device.scratchBytes(encodeToFloats(byWinograd(shape)))))
    ),
    scratchBytes: memoize(keyOfKernel, (kernel) =>
      isConvolution(kernel) ? unwrapAnswer(bytesAnswer(device.scratchBytes(encodeToFloats(kernel)))) : 0
    ),
    milliseconds: (kernel) => roofline(kernel, elementSizes(precision), rates),
    linkBytesPerSecond: copyRates,
    copyBytesPerSecond: copyRates
  }
}

/**
 * The cpu device as its addon describes it: oneDNN's layouts and scratchpads for this machine,
 * precision and number of threads.
 */
export const cpuModel = (threads: number, precision: CpuPrecision): E.Either<DeviceError, DeviceModel> =>
  pipe(
    E.Do,
    E.bind('versions', versions),
    E.bind('device', () => openDevice({ device: 'cpu', precision, threads })),
    E.map(({ device, versions: { instructionSet } }) => modelOf(device, precision, ratesOf(instructionSet, precision, threads), threads))
  )
