import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import * as t from 'io-ts'
import type { ConvolutionShape, DeviceModel } from '../staging/device-model'
import { encodeKernel, type Kernel, type KernelOf } from '../staging/kernels'
import { layoutCode, layouts, type Layout } from '../staging/layout'
import { roofline, type Rates } from '../staging/roofline'
import { openCpuDevice, versions, type NativeDevice } from './addon'
import { answerOf, type DeviceError } from './error'

const layout = t.keyof(Object.fromEntries(layouts.map((name) => [name, null])) as Readonly<Record<Layout, null>>, 'layout')
const bytesAnswer = answerOf(t.number)
const layoutAnswer = answerOf(layout)
const weightLayoutsAnswer = answerOf(t.readonly(t.type({ forward: layout, backwardData: layout }), 'weight layouts'))

/** A device that cannot answer for a kernel of a valid graph is a bug, so it throws. */
const answered = <A>(answer: E.Either<DeviceError, A>): A => {
  if (E.isLeft(answer)) throw new Error(answer.left.message)
  return answer.right
}

const memoised = <A, B>(keyOf: (a: A) => string, compute: (a: A) => B): ((a: A) => B) => {
  const known = new Map<string, B>()
  return (a) => {
    const key = keyOf(a)
    const found = known.get(key)
    if (found !== undefined) return found
    const computed = compute(a)
    known.set(key, computed)
    return computed
  }
}

const byKernel = (kernel: Kernel): string => encodeKernel(kernel).join()
const encoded = (kernel: Kernel): Float64Array => Float64Array.from(encodeKernel(kernel))

/** Outputs along each axis of the convolution that the device is asked about: layouts do not depend on them. */
const askedExtent = 32

const askedConvolution = (shape: ConvolutionShape, destination: Layout): Kernel => {
  const inputExtent = (axis: 0 | 1): number => (shape.kernel[axis] - 1) * shape.dilation[axis] + 1 + (askedExtent - 1) * shape.stride[axis]
  return {
    kind: 'convolutionForward',
    batch: 1,
    inChannels: shape.inChannels,
    inHeight: inputExtent(0),
    inWidth: inputExtent(1),
    outHeight: askedExtent,
    outWidth: askedExtent,
    kernelHeight: shape.kernel[0],
    kernelWidth: shape.kernel[1],
    strideHeight: shape.stride[0],
    strideWidth: shape.stride[1],
    dilationHeight: shape.dilation[0],
    dilationWidth: shape.dilation[1],
    padTop: 0,
    padBottom: 0,
    padLeft: 0,
    padRight: 0,
    outChannels: shape.outChannels,
    groups: shape.groups,
    sourceLayout: layoutCode(shape.sourceLayout),
    destinationLayout: layoutCode(destination),
    weightLayout: layoutCode('plain'),
    algorithm: 0,
    slope: 1
  }
}

/** Asked for its scratch, a device refuses the kernels that it does not have. */
const winogradConvolution = (shape: ConvolutionShape, destination: Layout): Kernel => {
  const { top, bottom, left, right } = shape.padding
  const unpadded = askedConvolution(shape, destination) as KernelOf<'convolutionForward'>
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

/** What one core of each kind sustains in the kernels that matter, roughly; a measured profile takes this place. */
const ratesOf = (instructionSet: string, threads: number): Rates => ({
  flopsPerSecond: threads * (instructionSet.startsWith('avx512') ? 1.05e11 : instructionSet.startsWith('avx2') ? 5e10 : 1e10),
  bytesPerSecond: Math.min(threads, 4) * 1.2e10,
  launchSeconds: 5e-6
})

const modelOf = (device: NativeDevice, rates: Rates, threads: number): DeviceModel => {
  const activationLayout = memoised(
    ([channels, input]: readonly [number, boolean]) => `${channels},${input}`,
    ([channels, input]) => answered(layoutAnswer(device.activationLayout({ channels, input })))
  )
  const destinationLayout = (shape: ConvolutionShape): Layout => activationLayout([shape.outChannels, false])
  return {
    name: 'cpu',
    precision: 'float32',
    threads,
    activationLayout: (channels, input) => activationLayout([channels, input]),
    weightLayouts: memoised(
      (shape) => byKernel(askedConvolution(shape, destinationLayout(shape))),
      (shape) => answered(weightLayoutsAnswer(device.weightLayouts(encoded(askedConvolution(shape, destinationLayout(shape))))))
    ),
    winograd: memoised(
      (shape) => byKernel(winogradConvolution(shape, destinationLayout(shape))),
      (shape) => E.isRight(bytesAnswer(device.scratchBytes(encoded(winogradConvolution(shape, destinationLayout(shape))))))
    ),
    scratchBytes: memoised(byKernel, (kernel) =>
      kernel.kind.startsWith('convolution') ? answered(bytesAnswer(device.scratchBytes(encoded(kernel)))) : 0
    ),
    winnersBytes: memoised(byKernel, (kernel) =>
      kernel.kind.startsWith('maxPool') ? answered(bytesAnswer(device.winnersBytes(encoded(kernel)))) : 0
    ),
    milliseconds: (kernel) => roofline(kernel, 4, rates),
    // A copy reads and writes each byte.
    linkBytesPerSecond: { toDevice: rates.bytesPerSecond / 2, toHost: rates.bytesPerSecond / 2 }
  }
}

/** The cpu device as its addon describes it: oneDNN's layouts and scratchpads for this machine and number of threads. */
export const cpuModel = (threads: number): E.Either<DeviceError, DeviceModel> =>
  pipe(
    E.Do,
    E.bind('versions', versions),
    E.bind('device', () => openCpuDevice(threads)),
    E.map(({ device, versions: { instructionSet } }) => modelOf(device, ratesOf(instructionSet, threads), threads))
  )
