import { bufferPhrase, bufferText, findRefused } from './ir/buffer-identity'
import { bufferKind, bufferLayers } from './ir/buffer-kind'
import { lazy, memoizeByNumber } from '../memoize'
import { stepsOfUpdate } from '../graph/objective'
import { computeLifetimes, type BufferLifetime } from '../placement/lifetimes'
import { maxLive } from '../placement/placement'
import { inOrder } from '../graph/order'
import type { DeviceModel } from '../devices/device-model'
import type { KernelKind } from '../kernels/kernels'
import type { StepGraph } from '../graph/step-graph'
import type { Plan } from '../plans/plan'
import type { Program, PersistentTensor, Section } from '../program/program'
import { nanoseconds, simulate } from '../devices/simulate'
import { createPool, type Buffer } from './ir/builder'
import { insertBefore } from './ir/insert-before'
import { createModelScope } from './segment/create-scope'
import { fitsProgram, placeProgram, placeBuffers } from './placement/place'
import { persistentBytes, createPersistentTensors } from './scope/persistent-tensors'
import { resolve, type Placed } from './placement/resolve'
import { programShard } from './step/program-shard'
import { countPacedPieces } from './step/pace-reduction'
import { countPacedUpdates } from './step/pace-updates'
import { bindSegments, emitSections, type UnplacedSection } from './step/step'
import { createReduction } from './step/pieces'
import { transferSection } from './step/transfer'

const describeLargest = (live: readonly Buffer[]): string => {
  const largest = live
    .filter(({ role }) => role !== 'persistent')
    .reduce<Buffer | undefined>((most, buffer) => (buffer.bytes > (most?.bytes ?? 0) ? buffer : most), undefined)
  return largest === undefined ? 'the parameters' : bufferPhrase(largest.identity)
}

const makeBuffers = (graph: StepGraph, lifetimes: readonly BufferLifetime[], offsets: readonly number[]): Program['buffers'] => {
  const layerOf = bufferLayers(graph)
  return lifetimes.map(({ buffer: { identity, bytes, role, share } }, index) => {
    const layer = layerOf(identity)
    const of = { kind: bufferKind(identity), ...(layer === undefined ? {} : { layer }), ...(share && { share }) }
    return { name: bufferText(identity), offset: offsets[index]!, bytes, role, ...of }
  })
}

/**
 * A plan for a graph on a device, lowered: what a search looks at. Of many only the most promising
 * are placed, and fewer still become Programs, so each answer is found when asked for.
 */
export interface Lowered {
  readonly plan: Plan
  /** The graph in the order in which it runs. */
  readonly graph: StepGraph
  /** Parameters and optimizer state. */
  readonly residentBytes: number
  /**
   * The most bytes that are live at once, in the arena and in the host pool: but for the padding of
   * one buffer no placement is lower.
   */
  readonly liveBytes: () => number
  readonly liveHostBytes: () => number
  /**
   * A kernel that the device refuses, so that no memory is enough for the plan: bytes leave out its
   * scratch. Undefined where the device takes all kernels.
   */
  readonly refusedKernel: () => KernelKind | undefined
  /** Highest byte that any section touches in the arena, plus one. */
  readonly peakBytes: () => number
  /** Whether `peakBytes` is no more than that, which is sooner known where it is less. */
  readonly fits: (bytes: number) => boolean
  /** Highest byte that the step touches in the host pool, plus one. */
  readonly hostBytes: () => number
  /** The largest buffer that is live where the most bytes are: what to make smaller. */
  readonly largestAtPeak: () => string
  /** Lifetimes of all buffers, in the order of the Program's. */
  readonly lifetimes: () => readonly BufferLifetime[]
  /** Returns the buffers that are live where the most bytes are. */
  readonly liveAtPeak: () => readonly Buffer[]
  /** Predicted time of a step, all micro-batches of an update. */
  readonly milliseconds: () => number
  /** What of it follows micro-batches: adding ranks' gradients, and an update of its own. */
  readonly updateMilliseconds: () => number
  /**
   * Where ranks add each gradient as soon as it is complete: how many pieces best begin to travel
   * after each exchange of rows or statistics, as `overlapReduction` of a plan has it.
   */
  readonly pacedPieces: () => readonly number[]
  /**
   * Where optimizer state waits on the host: how many pieces are best updated wherever a gradient
   * is complete, as `offloadOptimizer` of a plan has it, while gradients of at most so many bytes
   * wait for their state.
   */
  readonly pacedUpdates: (mostWaitingBytes: number) => readonly number[]
  readonly program: () => Program
}

/**
 * Lowers a plan for a graph, as the model has it written, on a device: instructions for every tile,
 * with their buffers placed; sections never run at the same time. The plan's tiles must see more
 * than padding, and its swapSchedule must be possible (see check-plan.ts).
 */
export const lower = (source: StepGraph, plan: Plan, device: DeviceModel): Lowered => {
  const { order, segments, placement } = plan
  const graph = inOrder(source, order)
  const pool = createPool()
  const scope = createModelScope(graph, device, pool)
  const persistentTensors = createPersistentTensors(scope, plan)
  const reduction = createReduction(scope, segments)
  const emitted = emitSections(scope, pool, bindSegments(scope, plan), persistentTensors, plan, reduction)
  const emitTransfers = (): readonly UnplacedSection[] => [
    transferSection(scope, pool, persistentTensors, 'restore', reduction),
    transferSection(scope, pool, persistentTensors, 'save', reduction)
  ]
  const hostTensors = persistentTensors.filter(({ onHost }) => onHost)
  // What is on the host passes through buffers of these sections, which must be placed.
  const sections = hostTensors.length > 0 ? [...emitted, ...emitTransfers()] : emitted
  const all = sections.flatMap(({ code }) => code)
  const placedOn = <P>(side: 'device' | 'host', always: readonly Buffer[], placed: (lifetimes: readonly BufferLifetime[]) => P) => {
    const lifetimes = lazy(() => computeLifetimes(all, always, side))
    return { lifetimes, live: lazy(() => maxLive(lifetimes())), placement: lazy(() => placed(lifetimes())) }
  }
  const codes = sections.map(({ code }) => code)
  const onDevice = placedOn(
    'device',
    persistentTensors.filter(({ onHost }) => !onHost).map(({ buffer }) => buffer),
    (lifetimes) => placeBuffers(placement, codes, lifetimes, pool)
  )
  const onHost = placedOn(
    'host',
    hostTensors.map(({ buffer }) => buffer),
    (lifetimes) => placeProgram(lifetimes)
  )
  const liveAtPeak = (): readonly Buffer[] => {
    const { time } = onDevice.live()
    return onDevice.lifetimes().flatMap(({ from, to, buffer }) => (from <= time && time < to ? [buffer] : []))
  }
  const program = (): Program => {
    const lifetimes = onDevice.lifetimes()
    const { offsets, peakBytes, pages, before } = onDevice.placement()
    const { offsets: hostOffsets, peakBytes: hostBytes } = onHost.placement()
    const placed: Placed = new Map([
      ...lifetimes.map(({ buffer }, index) => [buffer.id, { offset: offsets[index]!, buffer: index }] as const),
      ...onHost.lifetimes().map(({ buffer }, index) => [buffer.id, { offset: hostOffsets[index]!, buffer: index }] as const)
    ])
    const complete = hostTensors.length > 0 ? sections : [...sections, ...emitTransfers()]
    const resolved = complete.map(({ name, code, stepIo: { bytes, entries } }, index): readonly [string, Section] => [
      name,
      { code: insertBefore(resolve(code, placed), before[index]), stepIoBytes: bytes, stepIo: entries }
    ])
    return {
      precision: device.precision,
      threads: device.threads,
      hostBytes,
      peakBytes,
      ...(pages && { pages }),
      input: graph.input,
      ...(graph.shard && { shard: programShard(scope, segments) }),
      buffers: makeBuffers(graph, lifetimes, offsets),
      hostBuffers: makeBuffers(graph, onHost.lifetimes(), hostOffsets),
      persistentTensors: persistentTensors.map(({ name, role, parameter, buffer, onHost: isOnHost }): PersistentTensor => {
        const { shape, layout, groups } = parameter
        const at = { offset: placed.get(buffer.id)!.offset, bytes: buffer.bytes, ...(isOnHost && { onHost: true as const }) }
        return { name, role, parameter: parameter.name, shape, layout, groups, ...at }
      }),
      ...(Object.fromEntries(resolved) as Pick<Program, UnplacedSection['name']>),
      kernels: pool.kernels
    }
  }
  /** Maps take time; without them nothing need be placed to know it. */
  const codeOf = (name: UnplacedSection['name']) => {
    const index = sections.findIndex((section) => section.name === name)
    if (index === -1) return undefined
    return {
      code: placement !== undefined ? insertBefore(codes[index]!, onDevice.placement().before[index]) : codes[index]!
    }
  }
  const simulated = (step: NonNullable<ReturnType<typeof codeOf>>): number =>
    simulate({ step, reduce: codeOf('reduce'), update: codeOf('update'), kernels: pool.kernels }, device, stepsOfUpdate(graph.objective))
  return {
    plan,
    graph,
    residentBytes: persistentBytes(persistentTensors),
    refusedKernel: lazy(() => findRefused(onDevice.lifetimes())),
    liveBytes: () => onDevice.live().bytes,
    liveHostBytes: () => onHost.live().bytes,
    peakBytes: () => onDevice.placement().peakBytes,
    fits: memoizeByNumber((bytes) =>
      placement === undefined ? fitsProgram(onDevice.lifetimes(), bytes) : onDevice.placement().peakBytes <= bytes
    ),
    hostBytes: () => onHost.placement().peakBytes,
    largestAtPeak: () => describeLargest(liveAtPeak()),
    lifetimes: onDevice.lifetimes,
    liveAtPeak,
    milliseconds: lazy(() => simulated(codeOf('step')!)),
    updateMilliseconds: lazy(() => simulated({ code: [] })),
    pacedPieces: lazy(() => countPacedPieces(codes[0]!, (kernel) => nanoseconds(device, pool.kernels[kernel]!), device)),
    pacedUpdates: (mostWaitingBytes) => countPacedUpdates(codes[0]!, pool.kernels, device, mostWaitingBytes),
    program: lazy(program)
  }
}
