import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import type { DeviceModel } from '../../staging/devices/device-model'
import { gpuModel, type GpuAnswers, type GpuPrecision } from '../../staging/devices/gpu-model'
import type { DevicePrecision } from '../../staging/kernels/precision'
import { createRecording, type RecordedDevice, type Recording } from '../../staging/devices/recorded-device'
import { deviceProperties, openDevice, type DeviceProperties, type NativeDevice } from '../addon/addon'
import {
  algorithmsAnswer,
  unwrapAnswer,
  probeConvolution,
  bytesAnswer,
  encodeToFloats,
  layoutAnswer,
  weightLayoutsAnswer
} from './device-answers'
import { deviceError, type DeviceError } from '../addon/error'

/** PCI Express 4.0 x16 with pinned memory, roughly; a measured profile takes this place. */
const linkRate = 2.2e10

/**
 * A convolution to ask about layouts: all of a GPU have weights in one layout, as all activations
 * are in one.
 */
const someConvolution = {
  inChannels: 64,
  outChannels: 64,
  groups: 1,
  kernel: [3, 3],
  stride: [1, 1],
  dilation: [1, 1],
  padding: { top: 1, bottom: 1, left: 1, right: 1 }
} as const

const createAnswers = (device: NativeDevice, precision: GpuPrecision, rates: DeviceProperties): GpuAnswers => {
  const layout = (channels: number, input: boolean) => unwrapAnswer(layoutAnswer(device.activationLayout({ channels, input })))
  const activation = layout(someConvolution.inChannels, false)
  const asked = probeConvolution({ ...someConvolution, sourceLayout: activation }, activation)
  return {
    precision,
    rates,
    layouts: {
      input: layout(3, true),
      activation,
      weights: unwrapAnswer(weightLayoutsAnswer(device.weightLayouts(encodeToFloats(asked))))
    },
    algorithms: (kernel) =>
      E.getOrElse((): ReturnType<GpuAnswers['algorithms']> => [])(algorithmsAnswer(device.algorithms(encodeToFloats(kernel)))),
    scratchBytes: (kernel) => E.getOrElse((): number | undefined => undefined)(bytesAnswer(device.scratchBytes(encodeToFloats(kernel))))
  }
}

interface Gpu {
  readonly properties: DeviceProperties
  readonly answers: Recording
}

const opened = new Map<GpuPrecision, Gpu>()

/** This machine's GPU, asked each question once, however often it is planned for. */
const openGpu = (precision: DevicePrecision): E.Either<DeviceError, Gpu> => {
  if (precision === 'float64') return E.left(deviceError('device', 'the cuda device does not compute in float64: use the reference device'))
  const known = opened.get(precision)
  return known !== undefined
    ? E.right(known)
    : pipe(
        E.Do,
        E.bind('device', () => openDevice({ device: 'cuda', precision, threads: 1 })),
        E.bind('properties', ({ device }) => deviceProperties(device)),
        E.map(({ device, properties }) => {
          const gpu = { properties, answers: createRecording(createAnswers(device, precision, properties)) }
          opened.set(precision, gpu)
          return gpu
        })
      )
}

/**
 * The cuda device as its addon describes this machine's GPU: cuDNN's algorithms and their
 * workspaces, and the rates of the GPU.
 */
export const cudaModel = (threads: number, precision: DevicePrecision): E.Either<DeviceError, DeviceModel> =>
  pipe(
    openGpu(precision),
    E.map(({ answers }) => gpuModel(answers, { threads, linkBytesPerSecond: { toDevice: linkRate, toHost: linkRate } }))
  )

/**
 * All that this machine's GPU was asked so far, with the times that were measured on it: a device
 * file.
 */
export const recordGpu = (
  precision: DevicePrecision,
  { kernels, linkBytesPerSecond }: Pick<RecordedDevice, 'kernels' | 'linkBytesPerSecond'>
): E.Either<DeviceError, RecordedDevice> =>
  pipe(
    openGpu(precision),
    E.map(({ properties, answers: { precision, layouts, recorded } }) => ({
      recorded: 'cuda',
      ...properties,
      precision,
      linkBytesPerSecond,
      layouts,
      ...recorded(),
      kernels
    }))
  )
