import type { DeviceModel } from '../device-model'
import type { Graph } from '../graph'
import type { Layout } from '../layout'
import { firstFit, maxLive } from '../placement/first-fit'
import { lifetimesOf, type BufferLifetime } from '../placement/lifetimes'
import type { Segment } from '../plan'
import { bytesOf, type Address, type Exchanged, type Instruction, type Program, type Resident, type Section } from '../program'
import { segmentTiling } from '../tiling'
import type { Context, Objective, ParameterTensor, Source } from './context'
import { bindSegment, boundaryAt } from './bind'
import { at, emitter, exchanged, openPool, type Buffer, type Emitter, type Pool, type Virtual, type VirtualInstruction } from './emitter'
import { exchangeOf } from './exchange'
import { loweringOf } from './ops'
import { parameterTensors, reorderParameter, stateNames, tensorsOf, updateParameter } from './parameters'
import { emitBackward, emitForward, type SegmentCode } from './segment'

export interface Lowering {
  readonly graph: Graph
  readonly device: DeviceModel
  readonly objective: Objective
  readonly source: Source
}

/** Layout of tensor k, from the network's input on. */
const tensorLayouts = ({ graph, device }: Lowering): readonly Layout[] =>
  graph.nodes.reduce<readonly Layout[]>(
    (layouts, node) => [...layouts, loweringOf(node).outputLayout({ device }, layouts[layouts.length - 1]!, node.args)],
    [device.activationLayout(graph.input[1], true)]
  )

/** A context with every parameter in the arena, and nothing emitted yet. */
export const openContext = (lowering: Lowering, pool: Pool): Context => {
  const emit = emitter(pool)
  const elementBytes = bytesOf(lowering.device.precision)
  const layouts = tensorLayouts(lowering)
  const parameters = lowering.graph.nodes.map((node, index) => parameterTensors(node, layouts[index]!, { ...lowering, emit, elementBytes }))
  return { ...lowering, emit, elementBytes, layouts, parameters, exchange: exchangeOf(lowering).offsets }
}

interface StatePart {
  readonly name: string
  readonly role: string
  readonly parameter: ParameterTensor
  readonly buffer: Buffer
}

/** Parameters, then optimizer state: all that outlives a step. */
const residentsOf = ({ parameters, objective, emit, elementBytes, graph }: Context): readonly StatePart[] => {
  const tensors = parameters.flatMap((both, index) =>
    both === undefined ? [] : tensorsOf(both).map((parameter, which) => ({ parameter, role: graph.nodes[index]!.parameters[which]!.role }))
  )
  const names = objective.kind === 'train' ? stateNames(objective.optimizer) : []
  return [
    ...tensors.map(({ parameter, role }) => ({ name: parameter.name, role, parameter, buffer: parameter.buffer })),
    ...tensors.flatMap(({ parameter }) =>
      names.map((role) => {
        const name = `${role}.${parameter.name}`
        return { name, role, parameter, buffer: emit.buffer(name, parameter.elements * elementBytes, 'resident') }
      })
    )
  ]
}

/** Segments with their tiles and the boundaries between them. */
const bindSegments = (context: Context, segments: readonly Segment[]): readonly SegmentCode[] => {
  const boundaries = segments.map(({ to }) => boundaryAt(context, to))
  return segments.map((segment, index) => {
    const tiling = segmentTiling(context.graph, segment, segment.grid)
    if (tiling === undefined) throw new Error(`segment ${segment.from}..${segment.to} has a tile that sees only padding`)
    return bindSegment(context, segment, tiling, boundaries[index - 1], boundaries[index])
  })
}

/** Forward through the segments, then backward; the last segment does both at once, for nothing stands between. */
const emitStep = (context: Context, segments: readonly SegmentCode[], residents: readonly StatePart[]): void => {
  const { emit, objective, exchange } = context
  const finish = (parameter: ParameterTensor, gradient: Buffer): void => {
    if (objective.kind === 'gradients')
      return reorderParameter(emit, parameter, [at(gradient), parameter.layout], [exchanged(exchange.gradient(parameter.name)), 'plain'])
    const state = residents.filter((part) => part.parameter === parameter && part.buffer !== parameter.buffer)
    updateParameter(
      emit,
      objective.optimizer,
      parameter,
      gradient,
      state.map(({ buffer }) => buffer)
    )
  }
  emit.launch<'zero'>({ kind: 'zero', bytes: 16 }, { destination: exchanged(exchange.loss) })
  const kept = segments.slice(0, -1).map((code) => emitForward(context, code))
  for (const [index, code] of [...segments.entries()].reverse()) emitBackward(context, code, kept[index], finish)
}

const resolve = (code: readonly VirtualInstruction[], offsets: ReadonlyMap<number, number>): readonly Instruction[] => {
  const address = (operand: Virtual): Address => {
    if (operand.space === 'none') return { space: 'none', base: 0, strides: [0, 0, 0] }
    const base = operand.space === 'arena' ? offsets.get(operand.buffer.id)! + operand.base : operand.base
    return { space: operand.space, base, strides: operand.strides }
  }
  return code.map((instruction) =>
    instruction.kind === 'launch'
      ? { ...instruction, operands: instruction.operands.map(address) }
      : { ...instruction, body: resolve(instruction.body, offsets) }
  )
}

/** Weights and optimizer state between the arena and plain tensors, one after the other in the exchange buffer. */
const transferSection = (
  { elementBytes, device }: Context,
  pool: Pool,
  residents: readonly StatePart[],
  offsets: ReadonlyMap<number, number>,
  direction: 'restore' | 'save'
): Section => {
  const emit: Emitter = emitter(pool)
  const entries: Exchanged[] = []
  let offset = 0
  for (const { name, parameter, buffer } of residents) {
    const [inside, outside] = [[at(buffer), parameter.layout] as const, [exchanged(offset), 'plain'] as const]
    if (direction === 'restore') reorderParameter(emit, parameter, outside, inside)
    else reorderParameter(emit, parameter, inside, outside)
    entries.push({ name, type: device.precision, shape: parameter.shape, offset })
    offset += parameter.shape.reduce((product, extent) => product * extent, elementBytes)
  }
  return { code: resolve(emit.code(), offsets), exchangeBytes: offset, exchanged: entries }
}

const liveAtPeak = (lifetimes: readonly BufferLifetime[]): readonly Buffer[] => {
  const { time } = maxLive(lifetimes)
  return lifetimes.filter(({ from, to }) => from <= time && time < to).map(({ buffer }) => buffer)
}

const largestOf = (live: readonly Buffer[]): string =>
  live
    .filter(({ scope }) => scope !== 'resident')
    .reduce((largest, buffer) => (buffer.bytes > largest.bytes ? buffer : largest), { name: 'the parameters', bytes: 0 }).name

export interface Lowered {
  /** Highest byte that a step touches in the arena, plus one. */
  readonly peakBytes: number
  /** The largest buffer that is live where the most bytes are: what to make smaller. */
  readonly largestAtPeak: string
  /** What is live where the most bytes are. */
  readonly liveAtPeak: readonly Buffer[]
  /** Built when asked for: a search lowers many segmentations for their peaks alone. */
  readonly program: () => Program
}

/** Lowers a plan's segments: instructions for every tile, placed by size-descending first-fit. */
export const lower = (lowering: Lowering, segments: readonly Segment[]): Lowered => {
  const pool = openPool()
  const context = openContext(lowering, pool)
  const residents = residentsOf(context)
  emitStep(context, bindSegments(context, segments), residents)
  const code = context.emit.code()
  const lifetimes = lifetimesOf(
    code,
    residents.map(({ buffer }) => buffer)
  )
  const { offsets: placed, peakBytes } = firstFit(lifetimes)
  const program = (): Program => {
    const offsets = new Map(lifetimes.map(({ buffer }, index) => [buffer.id, placed[index]!]))
    const { bytes, entries } = exchangeOf(lowering)
    return {
      precision: lowering.device.precision,
      threads: lowering.device.threads,
      hostBytes: 0,
      peakBytes,
      input: lowering.graph.input,
      residents: residents.map(({ name, role, parameter: { shape, layout, groups }, buffer }): Resident => {
        return { name, role, shape, layout, groups, offset: offsets.get(buffer.id)!, bytes: buffer.bytes }
      }),
      step: { code: resolve(code, offsets), exchangeBytes: bytes, exchanged: entries },
      restore: transferSection(context, pool, residents, offsets, 'restore'),
      save: transferSection(context, pool, residents, offsets, 'save'),
      kernels: pool.kernels
    }
  }
  const live = liveAtPeak(lifetimes)
  return { peakBytes, largestAtPeak: largestOf(live), liveAtPeak: live, program }
}
