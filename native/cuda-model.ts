import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import * as t from 'io-ts'
import { refusedBytes, type ConvolutionAlgorithm, type DeviceModel } from '../staging/device-model'
import type { ConvolutionKernel, Kernel } from '../staging/kernels'
import { roofline } from '../staging/roofline'
import { deviceProperties, openDevice, type DeviceProperties, type MathMode, type NativeDevice } from './addon'
import { byKernel, bytesAnswer, encoded, layoutsOf, memoised } from './device-answers'
import { answerOf, type DeviceError } from './error'

const algorithmsAnswer = answerOf(t.readonlyArray(t.readonly(t.type({ algorithm: t.number, scratchBytes: t.number })), 'algorithms'))

/** Each place further down in cuDNN's list of what is fastest, which has no times, is taken to cost this much more. */
const perPlace = 0.15

/** PCI Express 4.0 x16 with pinned memory, roughly; a measured profile takes this place. */
const linkRate = 2.2e10

/** By Fourier transforms: far slower on an H200 than their places in cuDNN's list say, so they stand behind all others. */
const fourier: { readonly [K in ConvolutionKernel['kind']]: readonly number[] } = {
  convolutionForward: [20, 21],
  convolutionBackwardData: [18, 19],
  convolutionBackwardWeights: [18, 22]
}

const isConvolution = (kernel: Kernel): kernel is ConvolutionKernel => 'algorithm' in kernel

const modelOf = (device: NativeDevice, rates: DeviceProperties, threads: number): DeviceModel => {
  const scratch = memoised(byKernel, (kernel) => bytesAnswer(device.scratchBytes(encoded(kernel))))
  const algorithms = memoised(byKernel, (kernel: ConvolutionKernel) => {
    const listed = E.getOrElse((): readonly ConvolutionAlgorithm[] => [])(algorithmsAnswer(device.algorithms(encoded(kernel))))
    const isFourier = ({ algorithm }: ConvolutionAlgorithm): boolean => fourier[kernel.kind].includes(algorithm)
    return [...listed.filter((one) => !isFourier(one)), ...listed.filter(isFourier)]
  })
  /** How much longer a convolution takes than the fastest for its shape; algorithm 0 stands behind all that cuDNN lists. */
  const slowness = (kernel: ConvolutionKernel): number => {
    const listed = algorithms({ ...kernel, algorithm: 0 })
    const place = listed.findIndex(({ algorithm }) => algorithm === kernel.algorithm)
    return 1 + perPlace * (place === -1 ? listed.length : place)
  }
  return {
    ...layoutsOf(device),
    name: 'cuda',
    precision: 'float32',
    threads,
    winograd: () => false,
    algorithms,
    scratchBytes: (kernel) => (isConvolution(kernel) ? E.getOrElse(() => refusedBytes)(scratch(kernel)) : 0),
    milliseconds: (kernel) => {
      const fastest = roofline(kernel, 4, rates)
      return isConvolution(kernel) ? fastest * slowness(kernel) : fastest
    },
    linkBytesPerSecond: { toDevice: linkRate, toHost: linkRate }
  }
}

/** The cuda device as its addon describes this machine's GPU: cuDNN's algorithms and their workspaces, and the rates of the GPU. */
export const cudaModel = (threads: number, math: MathMode): E.Either<DeviceError, DeviceModel> =>
  pipe(
    E.Do,
    E.bind('device', () => openDevice({ device: 'cuda', threads, math })),
    E.bind('properties', ({ device }) => deviceProperties(device)),
    E.map(({ device, properties }) => modelOf(device, properties, threads))
  )
