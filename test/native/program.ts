// Programs written by hand, for the tests of the decoder and the interpreter.
import * as E from 'fp-ts/Either'
import * as assert from 'uvu/assert'
import {
  mathMode,
  openSession,
  type DeviceError,
  type DeviceName,
  type Image,
  type MathMode,
  type Session,
  type StepParameters
} from '../../native'
import type { Kernel } from '../../staging/kernels/kernels'
import { contiguousCopy } from '../../staging/lowering/ir/contiguous-copy'
import type { Address, Offset } from '../../staging/program/address'
import type { Copy, Engine, Instruction, Program, TileAxis } from '../../staging/program/program'
import { storedPrecision, type DevicePrecision, type Precision } from '../../staging/kernels/precision'
import { must } from '../must'

export const none: Address = { space: 'none', base: 0, strides: [0, 0, 0] }
export const arena = (base: number, strides: Address['strides'] = [0, 0, 0]): Address => ({ space: 'arena', base, strides })
export const stepIo = (base: number, strides: Address['strides'] = [0, 0, 0]): Address => ({ space: 'stepIo', base, strides })
export const index = (base: number, strides: Address['strides'] = [0, 0, 0]): Address => ({ space: 'index', base, strides })

export const launch = (kernel: number, ...operands: readonly Address[]): Instruction => ({ kind: 'launch', kernel, operands })
/** A launch of a loadImage on the to-device engine. */
export const load = (kernel: number, ...operands: readonly Address[]): Instruction => ({
  kind: 'launch',
  kernel,
  operands,
  engine: 'to-device'
})
export const loop = (axis: TileAxis, count: number, ...body: readonly Instruction[]): Instruction => ({ kind: 'loop', axis, count, body })

export const at = (base: number, strides: Offset['strides'] = [0, 0, 0]): Offset => ({ base, strides })

/** `bytes` from one place to another. */
export const swap: (engine: Copy['engine'], bytes: number, device: Offset, host: Offset) => Copy = contiguousCopy
export const record = (engine: Engine, event: number): Instruction => ({ kind: 'record', engine, event })
export const wait = (engine: Engine, event: number): Instruction => ({ kind: 'wait', engine, event })

/** Pages at addresses of the arena, in bytes. */
export const map = (address: number, memory: number, bytes: number): Instruction => ({ kind: 'map', address, memory, bytes })
export const unmap = (address: number, bytes: number): Instruction => ({ kind: 'unmap', address, bytes })

export interface Written {
  readonly kernels: readonly Kernel[]
  readonly code: readonly Instruction[]
  readonly stepIoBytes?: number
  readonly peakBytes?: number
  readonly hostBytes?: number
  readonly pages?: Program['pages']
  readonly precision?: Precision
  readonly input?: Program['input']
  readonly buffers?: Program['buffers']
}

/** A program whose step is `code`; restore and save do nothing. */
export const programOf = ({
  kernels,
  code,
  stepIoBytes = 0,
  peakBytes = 4096,
  hostBytes = 0,
  pages,
  precision = 'float64',
  input = [1, 1, 1, 1],
  buffers = []
}: Written): Program => ({
  precision,
  threads: 2,
  hostBytes,
  peakBytes,
  ...(pages && { pages }),
  input,
  kernels,
  buffers,
  hostBuffers: hostBytes === 0 ? [] : [{ name: 'the host pool', offset: 0, bytes: hostBytes, role: 'local', kind: 'workspace' }],
  persistentTensors: [],
  step: { code, stepIoBytes, stepIo: [] },
  restore: { code: [], stepIoBytes: 0, stepIo: [] },
  save: { code: [], stepIoBytes: 0, stepIo: [] }
})

export const left = <A>(result: E.Either<DeviceError, A>): DeviceError => {
  if (E.isRight(result)) throw new Error('this should have failed')
  return result.left
}

export const open = (
  written: Written,
  device: DeviceName = 'reference',
  arenaBytes = written.peakBytes ?? 4096,
  linkBytesPerSecond = 0,
  math: MathMode = 'float32'
): E.Either<DeviceError, Session> => openSession({ device, program: programOf(written), arenaBytes, linkBytesPerSecond, math })

export const parameters: StepParameters = { learningRate: 0.1, step: 0, seed: 1 }

/** Runs the step once on a copy of `values` and returns what the I/O buffer then holds. */
export const runStep = async (written: Written, values: Float64Array, images: readonly Image[] = []): Promise<Float64Array> => {
  const session = must(open({ ...written, stepIoBytes: values.byteLength }))
  const buffer = values.slice().buffer
  must(await session.run('step', buffer, parameters, images)())
  session.close()
  return new Float64Array(buffer)
}

/** Where a kernel is tried: what the two devices must agree on. */
export const targets = [
  { device: 'reference', precision: 'float64', tolerance: 1e-14 },
  { device: 'reference', precision: 'float32', tolerance: 1e-6 },
  { device: 'cpu', precision: 'float32', tolerance: 1e-6 }
] as const
/** Of kernels that it launches on a step's numbers as they are. */
export const cudaTarget = { device: 'cuda', precision: 'float32', tolerance: 1e-6 } as const
export type Target = (typeof targets)[number] | typeof cudaTarget

/**
 * Plain numbers are of the program's precision, a number by itself is an index; an operand that is
 * absent is undefined.
 */
export type Tensor = readonly number[] | Float64Array | Float32Array | Int32Array | Uint8Array | number | undefined

/** Numbers as a program of the precision has them: bf16 is the upper half. */
export const stored = (values: Float32Array, precision: 'float32' | 'bf16'): Tensor => {
  if (precision === 'float32') return values
  const words = new Uint16Array(values.buffer)
  return new Uint8Array(new Uint16Array(values.length).map((_, i) => words[2 * i + 1]!).buffer)
}

/**
 * Launches one kernel on `tensors`, which lie in the I/O buffer, and returns what they then
 * hold; nothing for indices.
 */
export const launchKernel = async (
  kernel: Kernel,
  tensors: readonly Tensor[],
  { device, precision: computed }: { readonly device: DeviceName; readonly precision: DevicePrecision },
  step: StepParameters = parameters
): Promise<readonly (ArrayLike<number> | undefined)[]> => {
  const precision = storedPrecision(computed)
  const elements = precision === 'float64' ? Float64Array : Float32Array
  const arrays = tensors.map((tensor) =>
    typeof tensor === 'number' ? undefined : Array.isArray(tensor) ? elements.from(tensor as readonly number[]) : (tensor as Float64Array)
  )
  const starts = arrays.map((_, i) => arrays.slice(0, i).reduce((sum, array) => sum + Math.ceil((array?.byteLength ?? 0) / 64) * 64, 0))
  const stepIoBytes = starts.at(-1)! + (arrays.at(-1)?.byteLength ?? 0)
  const operands = tensors.map((tensor, i) =>
    tensor === undefined ? none : typeof tensor === 'number' ? index(tensor) : stepIo(starts[i]!)
  )
  const written = { kernels: [kernel], code: [launch(0, ...operands)], stepIoBytes, precision }
  const session = must(open(written, device, undefined, undefined, mathMode(computed)))
  const buffer = new ArrayBuffer(stepIoBytes)
  const views = arrays.map((array, i) => array && new (array.constructor as Float64ArrayConstructor)(buffer, starts[i], array.length))
  views.forEach((view, i) => view?.set(arrays[i]!))
  must(await session.run('step', buffer, step, [])())
  session.close()
  return views
}

/** As launchKernel, with lists. */
export const runKernel = async (
  kernel: Kernel,
  tensors: readonly Tensor[],
  target: Target,
  step: StepParameters = parameters
): Promise<readonly (readonly number[])[]> => (await launchKernel(kernel, tensors, target, step)).map((view) => Array.from(view ?? []))

/** Every number within the target's tolerance, relative to 1 plus its size. */
export const close = (found: readonly number[], expected: readonly number[], { tolerance }: { readonly tolerance: number }): void => {
  assert.is(found.length, expected.length)
  expected.forEach((value, i) =>
    assert.ok(Math.abs(found[i]! - value) <= tolerance * (1 + Math.abs(value)), `element ${i} is ${found[i]}, not ${value}`)
  )
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
  add: 0,
  ofParameters: 0
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
  algorithm: 0,
  slope: 1
} as const
