import * as t from 'io-ts'
import type { DeviceModel } from './device-model'
import { gpuModel, representative, withoutRectifier, type GpuAnswers, type GpuPrecision } from './gpu-model'
import { configurationKey } from '../kernels/kernel-configuration'
import { isConvolution, keyOfKernel, type ConvolutionKernel, type Kernel } from '../kernels/kernels'
import { layouts, type Layout } from '../kernels/layout'
import { memoize } from '../memoize'
import { rate, seconds } from '../decoding/magnitudes'
import { isKernel, profileTimes } from './profile'
import { elementSizes, storedPrecision } from '../kernels/precision'

const bytes = t.refinement(t.number, (value) => Number.isSafeInteger(value) && value >= 0, 'a whole number of bytes from 0 upwards')
const bytesOrNull = t.refinement(
  t.union([t.number, t.null]),
  (value) => value === null || bytes.is(value),
  'a whole number of bytes, or null'
)
const code = t.refinement(t.number, (value) => Number.isSafeInteger(value) && value >= 0, 'the number of an algorithm')
const layout = t.keyof(Object.fromEntries(layouts.map((name) => [name, null])) as Readonly<Record<Layout, null>>, 'a layout')

const isRecordable = (value: unknown): value is ConvolutionKernel =>
  t.UnknownRecord.is(value) &&
  isKernel(value) &&
  isConvolution(value) &&
  Object.entries(value).every(([field, number]) => field === 'kind' || field === 'slope' || bytes.is(number))

const convolution = new t.Type<ConvolutionKernel>(
  "a convolution with this version's fields",
  isRecordable,
  (value, context) => (isRecordable(value) ? t.success(value) : t.failure(value, context)),
  t.identity
)

/** A GPU that is elsewhere: all that staging asked of it there, and what was measured on it. */
export const recordedDevice = t.readonly(
  t.type({
    recorded: t.literal('cuda', 'the cuda device'),
    name: t.refinement(t.string, (value) => value !== '', 'a name'),
    library: t.string,
    precision: t.keyof({ float32: null, tf32: null, bf16: null } satisfies Record<GpuPrecision, null>, 'float32, tf32 or bf16'),
    memoryBytes: rate,
    flopsPerSecond: rate,
    bytesPerSecond: rate,
    launchSeconds: seconds,
    multiprocessors: rate,
    linkBytesPerSecond: t.readonly(t.type({ toDevice: rate, toHost: rate })),
    layouts: t.readonly(
      t.type({ input: layout, activation: layout, weights: t.readonly(t.type({ forward: layout, backwardData: layout })) })
    ),
    /** Algorithms by representative: fastest first, none where the GPU refuses it. */
    algorithms: t.readonlyArray(
      t.readonly(t.type({ kernel: convolution, listed: t.readonlyArray(t.readonly(t.type({ algorithm: code, scratchBytes: bytes }))) }))
    ),
    /** Bytes of scratch of convolutions by their algorithms; null where the GPU refuses one. */
    scratch: t.readonlyArray(t.readonly(t.type({ kernel: convolution, scratchBytes: bytesOrNull }))),
    /** Times of single launches. */
    kernels: profileTimes
  })
)

/** What a file holds of a GPU: what it is, and its answers about kernels. */
export type RecordedDevice = t.TypeOf<typeof recordedDevice>

/** A GPU's answers, each asked for once, and those so far. */
export interface Recording extends GpuAnswers {
  readonly recorded: () => Pick<RecordedDevice, 'algorithms' | 'scratch'>
}

/** Passes questions on to a GPU, each once, and writes down what it answers. */
export const createRecording = (answers: GpuAnswers): Recording => {
  const algorithms: RecordedDevice['algorithms'][number][] = []
  const scratch: RecordedDevice['scratch'][number][] = []
  return {
    ...answers,
    algorithms: memoize(keyOfKernel, (kernel: ConvolutionKernel) => {
      const listed = answers.algorithms(kernel)
      algorithms.push({ kernel, listed })
      return listed
    }),
    scratchBytes: memoize(keyOfKernel, (kernel: ConvolutionKernel) => {
      const scratchBytes = answers.scratchBytes(kernel)
      scratch.push({ kernel, scratchBytes: scratchBytes ?? null })
      return scratchBytes
    }),
    recorded: () => ({ algorithms: [...algorithms], scratch: [...scratch] })
  }
}

/** Output elements: what scratch grows with among kernels of one configuration. */
const countOutputPixels = ({ batch, outHeight, outWidth }: ConvolutionKernel): number => batch * outHeight * outWidth

/**
 * Returns the recorded answer of a configuration for the nearest size, or none where one no larger
 * was refused.
 */
const nearest = <A>(
  rows: readonly { readonly kernel: ConvolutionKernel; readonly answer: A | undefined }[],
  kernel: ConvolutionKernel
): { readonly answer: A; readonly growth: number } | 'refused' | undefined => {
  const size = countOutputPixels(kernel)
  if (rows.some(({ kernel: one, answer }) => answer === undefined && countOutputPixels(one) <= size)) return 'refused'
  const distance = (one: ConvolutionKernel): number => Math.abs(Math.log(countOutputPixels(one) / size))
  const answered = rows.flatMap(({ kernel: one, answer }) => (answer === undefined ? [] : [{ one, answer }]))
  const [first, ...others] = answered
  if (first === undefined) return undefined
  const best = others.reduce((found, next) => (distance(next.one) < distance(found.one) ? next : found), first)
  return { answer: best.answer, growth: Math.max(1, size / countOutputPixels(best.one)) }
}

const groupByConfiguration = <R extends { readonly kernel: ConvolutionKernel }>(rows: readonly R[]): ReadonlyMap<string, readonly R[]> => {
  const byConfiguration = new Map<string, R[]>()
  for (const row of rows) {
    const configuration = configurationKey(row.kernel)
    const found = byConfiguration.get(configuration)
    if (found === undefined) byConfiguration.set(configuration, [row])
    else found.push(row)
  }
  return byConfiguration
}

/** A padded copy of the source is about what direct kernels take. */
const copyBytes = (k: ConvolutionKernel, elementBytes: number): number =>
  elementBytes * k.batch * k.inChannels * (k.inHeight + k.padTop + k.padBottom) * (k.inWidth + k.padLeft + k.padRight)

/**
 * Replays a recorded GPU's answers. A convolution that it was not asked about takes what the
 * nearest one of its configuration has, with scratch in proportion where it is larger; one without
 * a configuration runs by its direct kernel, with room for a padded copy of its source.
 */
const replayAnswers = (file: RecordedDevice): GpuAnswers => {
  const lists = file.algorithms.map(({ kernel, listed }) => ({ kernel, answer: listed.length === 0 ? undefined : listed }))
  const bytes = file.scratch.map(({ kernel, scratchBytes }) => ({ kernel, answer: scratchBytes ?? undefined }))
  const [exactLists, exactBytes] = [
    new Map(lists.map((row) => [keyOfKernel(row.kernel), row])),
    new Map(bytes.map((row) => [keyOfKernel(row.kernel), row]))
  ]
  const [listsByConfiguration, bytesByConfiguration] = [groupByConfiguration(lists), groupByConfiguration(bytes)]
  const { activationBytes } = elementSizes(storedPrecision(file.precision))
  return {
    precision: file.precision,
    rates: file,
    layouts: file.layouts,
    algorithms: (kernel) => {
      const exact = exactLists.get(keyOfKernel(kernel))
      if (exact !== undefined) return exact.answer ?? []
      const found = nearest(listsByConfiguration.get(configurationKey(kernel)) ?? [], kernel)
      if (found === undefined || found === 'refused') return []
      return found.answer.map(({ algorithm, scratchBytes }) => ({ algorithm, scratchBytes: Math.ceil(scratchBytes * found.growth) }))
    },
    scratchBytes: (kernel) => {
      const exact = exactBytes.get(keyOfKernel(kernel))
      if (exact !== undefined) return exact.answer
      const found = nearest(bytesByConfiguration.get(configurationKey(kernel)) ?? [], kernel)
      return found === 'refused'
        ? undefined
        : found === undefined
          ? copyBytes(kernel, activationBytes)
          : Math.ceil(found.answer * found.growth)
    }
  }
}

/**
 * The GPU of a file; plans are those that it would get itself, where the file holds what they ask.
 */
export const makeRecordedModel = (file: RecordedDevice, threads: number): DeviceModel =>
  gpuModel(replayAnswers(file), { threads, linkBytesPerSecond: file.linkBytesPerSecond })

/** Returns those kernels that are convolutions about which the GPU itself was not asked. */
export const findUnrecorded = (file: RecordedDevice, kernels: readonly Kernel[]): readonly ConvolutionKernel[] => {
  const keysOf = (rows: readonly { readonly kernel: ConvolutionKernel }[]): ReadonlySet<string> =>
    new Set(rows.map(({ kernel }) => keyOfKernel(kernel)))
  const [lists, bytes] = [keysOf(file.algorithms), keysOf(file.scratch)]
  return kernels
    .filter(isConvolution)
    .filter((kernel) => !lists.has(keyOfKernel(representative(kernel))) || !bytes.has(keyOfKernel(withoutRectifier(kernel))))
}
