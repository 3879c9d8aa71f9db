import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import * as t from 'io-ts'
import { createKernelTimer, deviceModel, type DeviceError } from '../native'
import { productFlops, type Kernel, type Program } from '../staging'
import { layoutCode } from '../staging/kernels/layout'
import { paddingFlops } from '../staging/kernels/padding-flops'
import { launchCounts } from '../src/plans/program-statistics'
import { copyOf, kernelBytes } from './kernel-bytes'
import { isWinograd, transformOperations, winogradSaving } from './winograd-work'

/** What a machine does at its best. */
export const machineRates = t.readonly(
  t.type({
    /** Floating-point operations a second of a large matrix product. */
    float32: t.number,
    bf16: t.number,
    /** Bytes a second that a copy reads and writes, of more than any cache holds. */
    bytes: t.number
  })
)
type Precision = 'float32' | 'bf16'
/** The rates of a machine at its best: what `machineRates` decodes. */
export type MachineRates = t.TypeOf<typeof machineRates>

/** A time, which is a sentence where the device has none. */
const asNumber = (time: number | string): number => {
  if (typeof time === 'string') throw new Error(time)
  return time
}

const least = (kernel: Kernel, precision: Precision, threads: number): E.Either<DeviceError, number> =>
  pipe(
    createKernelTimer({ device: 'cpu', precision, threads }),
    E.chain(({ milliseconds }) => milliseconds(Array.from({ length: 5 }, () => kernel))),
    E.map((times) => Math.min(...times.map(asNumber)))
  )

/** A kernel of 1x1 is the product of two matrices, here of 1024 x 1024. */
const side = 1024
const productOf = (precision: Precision, threads: number): E.Either<DeviceError, Kernel> =>
  pipe(
    deviceModel('cpu', precision, threads),
    E.map((device): Kernel => {
      const layout = device.activationLayout(side, false)
      const shape = {
        ...{ inChannels: side, outChannels: side, groups: 1, sourceLayout: layout },
        ...({ kernel: [1, 1], stride: [1, 1], dilation: [1, 1], padding: { top: 0, bottom: 0, left: 0, right: 0 } } as const)
      }
      const extent = Math.sqrt(side)
      return {
        kind: 'convolutionForward',
        ...{ batch: 1, inChannels: side, inHeight: extent, inWidth: extent, outHeight: extent, outWidth: extent },
        ...{ kernelHeight: 1, kernelWidth: 1, strideHeight: 1, strideWidth: 1, dilationHeight: 1, dilationWidth: 1 },
        ...{ padTop: 0, padBottom: 0, padLeft: 0, padRight: 0, outChannels: side, groups: 1 },
        ...{ sourceLayout: layoutCode(layout), destinationLayout: layoutCode(layout) },
        ...{ weightLayout: layoutCode(device.weightLayouts(shape).forward), algorithm: 0, slope: 1 }
      }
    })
  )

const flopsPerSecond = (precision: Precision, threads: number): E.Either<DeviceError, number> =>
  pipe(
    productOf(precision, threads),
    E.chain((kernel) => E.map((milliseconds: number) => (1000 * productFlops(kernel)) / milliseconds)(least(kernel, precision, threads)))
  )

const copiedBytes = 2 ** 28

/** Measures them, on otherwise idle cores, in about a second. */
export const measureRates = (threads: number): E.Either<DeviceError, MachineRates> =>
  pipe(
    E.Do,
    E.bind('float32', () => flopsPerSecond('float32', threads)),
    E.bind('bf16', () => flopsPerSecond('bf16', threads)),
    E.bind('bytes', () =>
      E.map((milliseconds: number) => (1000 * copiedBytes) / milliseconds)(least(copyOf(copiedBytes), 'float32', threads))
    )
  )

/** Floating-point operations by Winograd, in float32 whatever it reads. */
const winogradFlops = (kernel: Kernel): number => productFlops(kernel) / winogradSaving(kernel) + 2 * transformOperations(kernel)

/**
 * Milliseconds of a step on a machine that multiplies and copies at its best in every kernel, each
 * of which is either busy with arithmetic or with memory. What Winograd's transforms take counts as
 * arithmetic, an operation of theirs as a multiply-add. A cache may be faster than memory.
 */
export const limitMilliseconds = (program: Program, precision: Precision, rates: MachineRates): number => {
  const ofKernel = (kernel: Kernel): number => {
    const computing = isWinograd(kernel)
      ? winogradFlops(kernel) / rates.float32
      : (productFlops(kernel) - paddingFlops(kernel)) / rates[precision]
    return 1000 * Math.max(computing, kernelBytes(kernel, precision) / rates.bytes)
  }
  return [program.step, program.update]
    .flatMap((section) => (section === undefined ? [] : [...launchCounts(section)]))
    .reduce((sum, [kernel, launches]) => sum + launches * ofKernel(program.kernels[kernel]!), 0)
}
