import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import * as t from 'io-ts'
import type { DeviceModel } from '../staging/device-model'
import { gpuModel, type GpuAnswers } from '../staging/gpu-model'
import { recording, type RecordedDevice, type Recording } from '../staging/recorded-device'
import { deviceProperties, openDevice, type DeviceProperties, type MathMode, type NativeDevice } from './addon'
import { answered, askedConvolution, bytesAnswer, encoded, layoutAnswer, weightLayoutsAnswer } from './device-answers'
import { answerOf, type DeviceError } from './error'

const algorithmsAnswer = answerOf(t.readonlyArray(t.readonly(t.type({ algorithm: t.number, scratchBytes: t.number })), 'algorithms'))

/** PCI Express 4.0 x16 with pinned memory, roughly; a measured profile takes this place. */
const linkRate = 2.2e10

/** One of many: all convolutions of a GPU have weights in one layout, as all activations are in one. */
const someConvolution = {
  inChannels: 64,
  outChannels: 64,
  groups: 1,
  kernel: [3, 3],
  stride: [1, 1],
  dilation: [1, 1],
  padding: { top: 1, bottom: 1, left: 1, right: 1 }
} as const

const answersOf = (device: NativeDevice, rates: DeviceProperties): GpuAnswers => {
  const layout = (channels: number, input: boolean) => answered(layoutAnswer(device.activationLayout({ channels, input })))
  const activation = layout(someConvolution.inChannels, false)
  const asked = askedConvolution({ ...someConvolution, sourceLayout: activation }, activation)
  return {
    rates,
    layouts: { input: layout(3, true), activation, weights: answered(weightLayoutsAnswer(device.weightLayouts(encoded(asked)))) },
    algorithms: (kernel) =>
      E.getOrElse((): ReturnType<GpuAnswers['algorithms']> => [])(algorithmsAnswer(device.algorithms(encoded(kernel)))),
    scratchBytes: (kernel) => E.getOrElse((): number | undefined => undefined)(bytesAnswer(device.scratchBytes(encoded(kernel))))
  }
}

interface Gpu {
  readonly properties: DeviceProperties
  readonly answers: Recording
}

const opened = new Map<MathMode, Gpu>()

/** This machine's GPU, asked each question once, however often it is planned for. */
const openGpu = (math: MathMode): E.Either<DeviceError, Gpu> => {
  const known = opened.get(math)
  return known !== undefined
    ? E.right(known)
    : pipe(
        E.Do,
        E.bind('device', () => openDevice({ device: 'cuda', threads: 1, math })),
        E.bind('properties', ({ device }) => deviceProperties(device)),
        E.map(({ device, properties }) => {
          const gpu = { properties, answers: recording(answersOf(device, properties)) }
          opened.set(math, gpu)
          return gpu
        })
      )
}

/** The cuda device as its addon describes this machine's GPU: cuDNN's algorithms and their workspaces, and the rates of the GPU. */
export const cudaModel = (threads: number, math: MathMode): E.Either<DeviceError, DeviceModel> =>
  pipe(
    openGpu(math),
    E.map(({ answers }) => gpuModel(answers, { threads, linkBytesPerSecond: { toDevice: linkRate, toHost: linkRate } }))
  )

/** All that this machine's GPU was asked so far, with the times that were measured on it: a device file. */
export const recordedGpu = (
  math: MathMode,
  { kernels, linkBytesPerSecond }: Pick<RecordedDevice, 'kernels' | 'linkBytesPerSecond'>
): E.Either<DeviceError, RecordedDevice> =>
  pipe(
    openGpu(math),
    E.map(({ properties, answers: { layouts, recorded } }) => ({
      recorded: 'cuda',
      ...properties,
      precision: math,
      linkBytesPerSecond,
      layouts,
      ...recorded(),
      kernels
    }))
  )
