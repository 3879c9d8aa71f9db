import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import type { ConvolutionDimensions, DeviceModel } from '../../staging/devices/device-model'
import { isConvolution, keyOfKernel, takesScratch, type Kernel } from '../../staging/kernels/kernels'
import { layoutCode } from '../../staging/kernels/layout'
import { memoize } from '../../staging/memoize'
import { elementSizes } from '../../staging/kernels/precision'
import { roofline, type Rates } from '../../staging/kernels/roofline'
import { openDevice, versions, type NativeDevice } from '../addon/addon'
import { unwrapAnswer, normalisedProbes, probeConvolution, bytesAnswer, encodeToFloats, queryLayouts } from './device-answers'
import type { DeviceError } from '../addon/error'

/** The precisions that the cpu device computes in. */
export type CpuPrecision = 'float32' | 'bf16'

/**
 * Floating-point operations a second of one core; products of bf16 have instructions of their own
 * with AMX and AVX-512 BF16 alone.
 */
const peakFlops = (instructionSet: string, precision: CpuPrecision): number => {
  if (precision === 'bf16' && instructionSet.includes('amx')) return 1.3e12
  if (precision === 'bf16' && instructionSet.includes('bf16')) return 2.1e11
  return instructionSet.startsWith('avx512') ? 1.05e11 : instructionSet.startsWith('avx2') ? 5e10 : 1e10
}

/**
 * Rough rates of one core of each kind in the kernels that matter; a measured profile takes this
 * place.
 */
const makeRates = (instructionSet: string, precision: CpuPrecision, threads: number): Rates => ({
  flopsPerSecond: threads * peakFlops(instructionSet, precision),
  bytesPerSecond: Math.min(threads, 4) * 1.2e10,
  launchSeconds: 5e-6,
  skipsPadding: true
})

const makeModel = (device: NativeDevice, precision: CpuPrecision, instructionSet: string, threads: number): DeviceModel => {
  const rates = makeRates(instructionSet, precision, threads)
  // Winograd computes in float32 whatever it reads.
  const ofWinograd = makeRates(instructionSet, 'float32', threads)
  const layouts = queryLayouts(device)
  const scratchAnswer = (kernel: Kernel) => bytesAnswer(device.scratchBytes(encodeToFloats(kernel)))
  // A copy reads and writes each byte.
  const copyRates = { toDevice: rates.bytesPerSecond / 2, toHost: rates.bytesPerSecond / 2 }
  /** Asked for its scratch, a device refuses the kernels that it does not have. */
  const byWinograd = (shape: ConvolutionDimensions): Kernel => {
    const { top, bottom, left, right } = shape.padding
    const unpadded = probeConvolution(shape, layouts.activationLayout(shape.outChannels, false))
    return {
      ...unpadded,
      outHeight: unpadded.outHeight + top + bottom,
      outWidth: unpadded.outWidth + left + right,
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
      (shape) => E.isRight(scratchAnswer(byWinograd(shape)))
    ),
    winogradOfStored: memoize(keyOfKernel, (kernel) => E.isRight(scratchAnswer(kernel))),
    normaliseOnLoad: memoize(
      (shape) => keyOfKernel(probeConvolution(shape, shape.sourceLayout)),
      (shape) => normalisedProbes(shape, layouts.weightLayouts(shape)).every((kernel) => E.isRight(scratchAnswer(kernel)))
    ),
    scratchBytes: memoize(keyOfKernel, (kernel) => {
      if (isConvolution(kernel)) return unwrapAnswer(scratchAnswer(kernel))
      return takesScratch(kernel) ? E.getOrElseW(() => undefined)(scratchAnswer(kernel)) : 0
    }),
    milliseconds: (kernel) =>
      roofline(kernel, elementSizes(precision), isConvolution(kernel) && kernel.algorithm === 1 ? ofWinograd : rates),
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
    E.map(({ device, versions: { instructionSet } }) => makeModel(device, precision, instructionSet, threads))
  )
