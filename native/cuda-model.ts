import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import * as t from 'io-ts'
import type { DeviceModel } from '../staging/device-model'
import { gpuModel, type GpuAnswers } from '../staging/gpu-model'
import { deviceProperties, openDevice, type MathMode, type NativeDevice } from './addon'
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

/** What the addon says of this machine's GPU. */
export const gpuAnswers = (device: NativeDevice): E.Either<DeviceError, GpuAnswers> =>
  pipe(
    deviceProperties(device),
    E.map((rates) => {
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
    })
  )

/** The cuda device as its addon describes this machine's GPU: cuDNN's algorithms and their workspaces, and the rates of the GPU. */
export const cudaModel = (threads: number, math: MathMode): E.Either<DeviceError, DeviceModel> =>
  pipe(
    openDevice({ device: 'cuda', threads, math }),
    E.chain(gpuAnswers),
    E.map((answers) => gpuModel(answers, { threads, linkBytesPerSecond: { toDevice: linkRate, toHost: linkRate } }))
  )
