// Programs written by hand, for the tests of the decoder and the interpreter.
import * as E from 'fp-ts/Either'
import { openSession, type DeviceError, type DeviceName, type Image, type Session } from '../../native'
import type { Kernel } from '../../staging/kernels'
import type { Address, Instruction, Precision, Program, TileAxis } from '../../staging/program'

export const none: Address = { space: 'none', base: 0, strides: [0, 0, 0] }
export const arena = (base: number, strides: Address['strides'] = [0, 0, 0]): Address => ({ space: 'arena', base, strides })
export const exchange = (base: number, strides: Address['strides'] = [0, 0, 0]): Address => ({ space: 'exchange', base, strides })
export const index = (base: number, strides: Address['strides'] = [0, 0, 0]): Address => ({ space: 'index', base, strides })

export const launch = (kernel: number, ...operands: readonly Address[]): Instruction => ({ kind: 'launch', kernel, operands })
export const loop = (axis: TileAxis, count: number, ...body: readonly Instruction[]): Instruction => ({ kind: 'loop', axis, count, body })

export interface Written {
  readonly kernels: readonly Kernel[]
  readonly code: readonly Instruction[]
  readonly exchangeBytes?: number
  readonly peakBytes?: number
  readonly precision?: Precision
  readonly input?: Program['input']
}

/** A program whose step is `code`; restore and save do nothing. */
export const programOf = ({
  kernels,
  code,
  exchangeBytes = 0,
  peakBytes = 4096,
  precision = 'float64',
  input = [1, 1, 1, 1]
}: Written): Program => ({
  precision,
  threads: 2,
  hostBytes: 0,
  peakBytes,
  input,
  kernels,
  residents: [],
  step: { code, exchangeBytes, exchanged: [] },
  restore: { code: [], exchangeBytes: 0, exchanged: [] },
  save: { code: [], exchangeBytes: 0, exchanged: [] }
})

export const right = <A>(result: E.Either<DeviceError, A>): A => {
  if (E.isLeft(result)) throw new Error(result.left.message)
  return result.right
}

export const left = <A>(result: E.Either<DeviceError, A>): DeviceError => {
  if (E.isRight(result)) throw new Error('this should have failed')
  return result.left
}

export const open = (
  written: Written,
  device: DeviceName = 'reference',
  arenaBytes = written.peakBytes ?? 4096
): E.Either<DeviceError, Session> => openSession({ device, program: programOf(written), arenaBytes })

export const parameters = { learningRate: 0.1, step: 0, seed: 1 }

/** Runs the step once on a copy of `values` and returns what the exchange buffer then holds. */
export const runStep = async (written: Written, values: Float64Array, images: readonly Image[] = []): Promise<Float64Array> => {
  const session = right(open({ ...written, exchangeBytes: values.byteLength }))
  const buffer = values.slice().buffer
  right(await session.run('step', buffer, parameters, images)())
  session.close()
  return new Float64Array(buffer)
}

export const copy = (count: number): Kernel => ({
  kind: 'copyBox',
  n0: 1,
  n1: 1,
  n2: 1,
  n3: count,
  sourceStride0: 0,
  sourceStride1: 0,
  sourceStride2: 0,
  destinationStride0: 0,
  destinationStride1: 0,
  destinationStride2: 0,
  add: 0
})

/** A 3x3 convolution of stride 1 over one padded plane. */
export const convolution = {
  kind: 'convolutionForward',
  batch: 1,
  inChannels: 1,
  inHeight: 3,
  inWidth: 3,
  outHeight: 3,
  outWidth: 3,
  kernelHeight: 3,
  kernelWidth: 3,
  strideHeight: 1,
  strideWidth: 1,
  dilationHeight: 1,
  dilationWidth: 1,
  padTop: 1,
  padBottom: 1,
  padLeft: 1,
  padRight: 1,
  outChannels: 1,
  groups: 1,
  sourceLayout: 0,
  destinationLayout: 0,
  weightLayout: 0,
  algorithm: 0
} as const
