import type { DeviceModel } from '../device-model'
import { elementsOf, type Graph } from '../graph'
import type { Layout } from '../layout'
import { lazily } from '../lazily'
import { microBatches, updatesLater } from '../objective'
import { lifetimesOf, type BufferLifetime } from '../placement/lifetimes'
import { aligned, maxLive } from '../placement/placement'
import type { PlacementChoice, Residence, Segment } from '../plan'
import {
  elementSizes,
  parameterType,
  type Address,
  type Exchanged,
  type Instruction,
  type Offset,
  type Program,
  type Resident,
  type Section
} from '../program'
import { simulate } from '../simulate'
import { segmentTiling } from '../tiling'
import type { Context, Objective, ParameterTensor, Source } from './context'
import { allBetween, bindSegment, exportsInput, repeatForward } from './bind'
import {
  at,
  emitter,
  exchanged,
  openPool,
  type Buffer,
  type Emitter,
  type InBuffer,
  type Pool,
  type Virtual,
  type VirtualInstruction
} from './emitter'
import { emitEvaluation } from './evaluate'
import { evaluationExchangeOf, exchangeOf } from './exchange'
import { openMoments } from './moments'
import type { Insertions } from './chunks'
import { loweringOf } from './ops'
import type { StepCode } from './kept'
import { learningTensors, parameterTensors, reorderParameter, stateNames, tensorsOf, updateParameter } from './parameters'
import { place, placeBuffers } from './place'
import { emitBackward, emitForward, type SegmentCode } from './segment'
import { withSwaps } from './swap'
import { emitUpdate, updateExchange } from './update'

export interface Lowering {
  readonly graph: Graph
  readonly device: DeviceModel
  readonly objective: Objective
  readonly source: Source
  /** Of the buffers; `static` where absent. */
  readonly placement?: PlacementChoice
}

/** Layout of tensor k, from the network's input on. */
const tensorLayouts = ({ graph, device }: Lowering): readonly Layout[] => {
  // A transposed convolution runs as the gradient of one, whose input is no image.
  const isImage = graph.readers[0]!.every((reader) => graph.nodes[reader]!.op !== 'convTranspose2d')
  const layouts: Layout[] = [device.activationLayout(graph.input[1], isImage)]
  for (const node of graph.nodes) layouts.push(loweringOf(node).outputLayout({ device }, layouts[node.inputs[0]!]!, node))
  return layouts
}

/** Of each tensor, whether its gradient is wanted. */
const wantedGradients = (graph: Graph, parameters: Context['parameters'], ofInput: boolean): readonly boolean[] => {
  const wanted = [ofInput]
  graph.nodes.forEach(({ inputs }, position) =>
    wanted.push(learningTensors(parameters[position]).length > 0 || inputs.some((tensor) => wanted[tensor]))
  )
  return wanted
}

/** A context with every parameter in the arena, and nothing emitted yet. */
export const openContext = (lowering: Lowering, pool: Pool): Context => {
  const emit = emitter(pool)
  const sizes = elementSizes(lowering.device.precision)
  const layouts = tensorLayouts(lowering)
  const { graph } = lowering
  const parameters = graph.nodes.map((node) => parameterTensors(node, layouts[node.inputs[0]!]!, { ...lowering, emit, ...sizes }))
  const gradients = wantedGradients(graph, parameters, exportsInput(lowering))
  const first = gradients.indexOf(true)
  const firstLearning = first === -1 ? parameters.length : first - 1
  const moments = openMoments({ graph, emit })
  return { ...lowering, emit, ...sizes, layouts, parameters, gradients, firstLearning, moments, exchange: exchangeOf(lowering).offsets }
}

interface StatePart {
  readonly name: string
  readonly role: string
  readonly parameter: ParameterTensor
  readonly buffer: Buffer
}

/** Parameters, then optimizer state, then gradients that are kept: all that outlives a section. */
const residentsOf = ({ parameters, objective, emit, parameterBytes, graph }: Context): readonly StatePart[] => {
  const tensors = parameters.flatMap((both, index) =>
    both === undefined ? [] : tensorsOf(both).map((parameter, which) => ({ parameter, role: graph.nodes[index]!.parameters[which]!.role }))
  )
  const names = objective.kind === 'train' ? stateNames(objective.optimizer) : []
  return [
    ...tensors.map(({ parameter, role }) => ({ name: parameter.name, role, parameter, buffer: parameter.buffer })),
    ...tensors.flatMap(({ parameter }) =>
      (parameter.learning === undefined ? [] : names).map((role) => {
        const name = `${role}.${parameter.name}`
        return { name, role, parameter, buffer: emit.buffer(name, parameter.elements * parameterBytes, 'resident') }
      })
    ),
    ...tensors.flatMap(({ parameter }) =>
      parameter.gradient === undefined ? [] : [{ name: parameter.gradient.name, role: 'gradient', parameter, buffer: parameter.gradient }]
    )
  ]
}

export const bytesOfResidents = (residents: readonly StatePart[]): number =>
  residents.reduce((sum, { buffer }) => sum + aligned(buffer.bytes), 0)

/** The segments of a step, with what stands between them. */
interface Bound {
  readonly segments: readonly SegmentCode[]
  /** Runs segments forward once more, for the backward of the one that follows them. */
  readonly repeat: (codes: readonly SegmentCode[], before: SegmentCode) => void
}

/** Segments with their tiles and the boundaries between them. */
const bindSegments = (context: Context, segments: readonly Segment[]): Bound => {
  const between = allBetween(context, segments)
  const bound = segments.map((segment) => {
    const tiling = segmentTiling(context.graph, segment, segment.grid)
    if (tiling === undefined) throw new Error(`segment ${segment.from}..${segment.to} has a tile that sees only padding`)
    return bindSegment(context, segment, tiling, between)
  })
  return { segments: bound, repeat: (codes, before) => repeatForward(context, codes, before, between) }
}

/** The optimizer's buffers of a parameter, in the order of `stateNames`. */
const statesOf = (residents: readonly StatePart[]): ((parameter: ParameterTensor) => readonly Buffer[]) => {
  const states = new Map<ParameterTensor, Buffer[]>()
  for (const { parameter, buffer } of residents)
    if (buffer !== parameter.buffer && buffer !== parameter.gradient) states.set(parameter, [...(states.get(parameter) ?? []), buffer])
  return (parameter) => states.get(parameter) ?? []
}

/** Forward through the segments, then backward; the last segment does both at once, for nothing stands between. */
const emitStep = (context: Context, { segments, repeat }: Bound, residents: readonly StatePart[]): StepCode => {
  const { emit, objective, exchange, graph, parameterBytes } = context
  const stateOf = statesOf(residents)
  const finish = (parameter: ParameterTensor, gradient: Buffer): void => {
    if (objective.kind === 'gradients')
      return reorderParameter(emit, parameter, [at(gradient), parameter.layout], [exchanged(exchange.gradient(parameter.name)), 'plain'])
    if (objective.kind === 'train' && parameter.gradient === undefined)
      updateParameter(emit, objective.optimizer, parameter, gradient, stateOf(parameter))
  }
  emit.launch<'zero'>({ kind: 'zero', bytes: 16 }, { destination: exchanged(exchange.loss) })
  if (context.gradients[0]!)
    emit.launch<'zero'>(
      { kind: 'zero', bytes: elementsOf(graph.input) * parameterBytes },
      { destination: exchanged(exchange.inputGradient) }
    )
  const kept = segments.slice(0, -1).map((code) => emitForward(context, code))
  for (const [index, code] of [...segments.entries()].reverse()) {
    const first = 1 + segments.slice(0, index).findLastIndex(({ segment }) => segment.repeats !== true)
    if (code.segment.repeats !== true) repeat(segments.slice(first, index), code)
    emitBackward(context, code, kept[index], finish)
  }
  return { code: emit.code(), nodes: graph.nodes.length, moments: emit.moments() }
}

/** Where each virtual buffer lies, and its index in the Program's list, by its id. */
type Placed = ReadonlyMap<number, { readonly offset: number; readonly buffer: number }>

const resolve = (code: readonly VirtualInstruction[], placed: Placed): readonly Instruction[] => {
  const address = (operand: Virtual): Address => {
    if (operand.space === 'none') return { space: 'none', base: 0, strides: [0, 0, 0] }
    if (operand.space !== 'arena') return { space: operand.space, base: operand.base, strides: operand.strides }
    const { offset, ...buffer } = placed.get(operand.buffer.id)!
    return { space: 'arena', base: offset + operand.base, strides: operand.strides, ...buffer }
  }
  const side = ({ buffer: { id }, base, strides }: InBuffer): Offset => {
    const { offset, ...buffer } = placed.get(id)!
    return { base: offset + base, strides, ...buffer }
  }
  return code.map((instruction): Instruction => {
    switch (instruction.kind) {
      case 'launch':
        return { ...instruction, operands: instruction.operands.map(address) }
      case 'loop':
        return { ...instruction, body: resolve(instruction.body, placed) }
      case 'copy':
        return { ...instruction, device: side(instruction.device), host: side(instruction.host) }
      default: {
        const { kind, engine, event } = instruction
        return { kind, engine, event }
      }
    }
  })
}

/** Weights and optimizer state between the arena and plain tensors, one after the other in the exchange buffer. */
const transferSection = (
  { parameterBytes, device }: Context,
  pool: Pool,
  residents: readonly StatePart[],
  placed: Placed,
  direction: 'restore' | 'save'
): Section => {
  const emit: Emitter = emitter(pool)
  const entries: Exchanged[] = []
  let offset = 0
  for (const { name, role, parameter, buffer } of residents) {
    if (role === 'gradient') {
      if (direction === 'restore') emit.launch<'zero'>({ kind: 'zero', bytes: buffer.bytes }, { destination: at(buffer) })
      continue
    }
    const [inside, outside] = [[at(buffer), parameter.layout] as const, [exchanged(offset), 'plain'] as const]
    if (direction === 'restore') reorderParameter(emit, parameter, outside, inside)
    else reorderParameter(emit, parameter, inside, outside)
    entries.push({ name, type: parameterType(device.precision), shape: parameter.shape, offset })
    offset += parameter.shape.reduce((product, extent) => product * extent, parameterBytes)
  }
  return { code: resolve(emit.code(), placed), exchangeBytes: offset, exchanged: entries }
}

const largestOf = (live: readonly Buffer[]): string =>
  live
    .filter(({ scope }) => scope !== 'resident')
    .reduce((largest, buffer) => (buffer.bytes > largest.bytes ? buffer : largest), { name: 'the parameters', bytes: 0 }).name

const buffersOf = (lifetimes: readonly BufferLifetime[], offsets: readonly number[]): Program['buffers'] =>
  lifetimes.map(({ buffer: { name, bytes, scope } }, index) => ({ name, offset: offsets[index]!, bytes, role: scope }))

/** What a search looks at: of many only the most promising are placed, and fewer still become Programs. Each answer is found when asked for. */
export interface Lowered {
  /** Parameters and optimizer state. */
  readonly residentBytes: number
  /** The most bytes that are live at once, in the arena and in the host pool: but for the padding of one buffer no placement is lower. */
  readonly liveBytes: () => number
  readonly liveHostBytes: () => number
  /** Highest byte that any section touches in the arena, plus one. */
  readonly peakBytes: () => number
  /** The same of the host pool. */
  readonly hostBytes: () => number
  /** The largest buffer that is live where the most bytes are: what to make smaller. */
  readonly largestAtPeak: () => string
  /** Of all buffers, in the order of the Program's. */
  readonly lifetimes: () => readonly BufferLifetime[]
  /** What is live where the most bytes are. */
  readonly liveAtPeak: () => readonly Buffer[]
  /** Predicted time of a step, all micro-batches of an update. */
  readonly milliseconds: () => number
  readonly program: () => Program
}

/** A section before placement. */
interface VirtualSection {
  readonly name: 'step' | 'update' | 'evaluate'
  readonly code: readonly VirtualInstruction[]
  readonly exchange: { readonly bytes: number; readonly entries: readonly Exchanged[] }
}

/** The sections that compute: the step, and what else the objective asks for. */
const emitSections = (
  context: Context,
  pool: Pool,
  bound: Bound,
  residents: readonly StatePart[],
  residence: Residence
): readonly VirtualSection[] => {
  const { objective } = context
  const evaluation = (name: 'step' | 'evaluate'): VirtualSection => {
    const evaluate = emitter(pool)
    emitEvaluation(context, evaluate, bound.segments)
    return { name, code: evaluate.code(), exchange: evaluationExchangeOf(context) }
  }
  if (objective.kind === 'evaluate') return [evaluation('step')]
  const step = emitStep(context, bound, residents)
  const sections: VirtualSection[] = [{ name: 'step', code: withSwaps(step, pool, residence), exchange: exchangeOf(context) }]
  if (objective.kind !== 'train') return sections
  if (updatesLater(objective)) {
    const update = emitter(pool)
    emitUpdate(update, objective, context.parameters.flatMap(learningTensors), statesOf(residents))
    sections.push({ name: 'update', code: update.code(), exchange: updateExchange(objective) })
  }
  return objective.evaluate === true ? [...sections, evaluation('evaluate')] : sections
}

/** The step without transfers, and what is in the arena beside what its code makes. */
export const stepOf = (lowering: Lowering, segments: readonly Segment[]) => {
  const pool = openPool()
  const context = openContext(lowering, pool)
  const residents = residentsOf(context)
  return { pool, residents, step: emitStep(context, bindSegments(context, segments), residents) }
}

/** The same code with what stands before instructions at its top, and at its end. */
const inserted = <A>(code: readonly A[], before: Insertions = new Map()): readonly (A | Instruction)[] => [
  ...code.flatMap((one, position) => [...(before.get(position) ?? []), one]),
  ...(before.get(code.length) ?? [])
]

/** Lowers a plan's segments: instructions for every tile, with their buffers placed; sections never run at the same time. */
export const lower = (lowering: Lowering, segments: readonly Segment[], residence: Residence = []): Lowered => {
  const pool = openPool()
  const context = openContext(lowering, pool)
  const residents = residentsOf(context)
  const sections = emitSections(context, pool, bindSegments(context, segments), residents, residence)
  const all = sections.flatMap(({ code }) => code)
  const placedOn = <P>(side: 'device' | 'host', always: readonly Buffer[], placed: (lifetimes: readonly BufferLifetime[]) => P) => {
    const lifetimes = lazily(() => lifetimesOf(all, always, side))
    return { lifetimes, live: lazily(() => maxLive(lifetimes())), placement: lazily(() => placed(lifetimes())) }
  }
  const codes = sections.map(({ code }) => code)
  const onDevice = placedOn(
    'device',
    residents.map(({ buffer }) => buffer),
    (lifetimes) => placeBuffers(lowering.placement, codes, lifetimes, pool)
  )
  const onHost = placedOn('host', [], place)
  const liveAtPeak = (): readonly Buffer[] => {
    const { time } = onDevice.live()
    return onDevice.lifetimes().flatMap(({ from, to, buffer }) => (from <= time && time < to ? [buffer] : []))
  }
  const program = (): Program => {
    const lifetimes = onDevice.lifetimes()
    const { offsets, peakBytes, chunks, before } = onDevice.placement()
    const { offsets: hostOffsets, peakBytes: hostBytes } = onHost.placement()
    const placed: Placed = new Map([
      ...lifetimes.map(({ buffer }, index) => [buffer.id, { offset: offsets[index]!, buffer: index }] as const),
      ...onHost.lifetimes().map(({ buffer }, index) => [buffer.id, { offset: hostOffsets[index]!, buffer: index }] as const)
    ])
    const resolved = sections.map(({ name, code, exchange: { bytes, entries } }, index): readonly [string, Section] => [
      name,
      { code: inserted(resolve(code, placed), before[index]), exchangeBytes: bytes, exchanged: entries }
    ])
    return {
      precision: lowering.device.precision,
      threads: lowering.device.threads,
      hostBytes,
      peakBytes,
      ...(chunks && { chunks }),
      input: lowering.graph.input,
      buffers: buffersOf(lifetimes, offsets),
      hostBuffers: buffersOf(onHost.lifetimes(), hostOffsets),
      residents: residents.map(({ name, role, parameter: { shape, layout, groups }, buffer }): Resident => {
        return { name, role, shape, layout, groups, offset: placed.get(buffer.id)!.offset, bytes: buffer.bytes }
      }),
      ...(Object.fromEntries(resolved) as Pick<Program, VirtualSection['name']>),
      restore: transferSection(context, pool, residents, placed, 'restore'),
      save: transferSection(context, pool, residents, placed, 'save'),
      kernels: pool.kernels
    }
  }
  /** Maps take time; without them nothing need be placed to know it. */
  const codeOf = (name: VirtualSection['name']) => {
    const index = sections.findIndex((section) => section.name === name)
    if (index === -1) return undefined
    return {
      code: lowering.placement?.allocator === 'virtual' ? inserted(codes[index]!, onDevice.placement().before[index]) : codes[index]!
    }
  }
  return {
    residentBytes: bytesOfResidents(residents),
    liveBytes: () => onDevice.live().bytes,
    liveHostBytes: () => onHost.live().bytes,
    peakBytes: () => onDevice.placement().peakBytes,
    hostBytes: () => onHost.placement().peakBytes,
    largestAtPeak: () => largestOf(liveAtPeak()),
    lifetimes: onDevice.lifetimes,
    liveAtPeak,
    milliseconds: lazily(() =>
      simulate(
        { step: codeOf('step')!, update: codeOf('update'), kernels: pool.kernels },
        lowering.device,
        microBatches(lowering.objective)
      )
    ),
    program: lazily(program)
  }
}
