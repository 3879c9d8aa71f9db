import * as E from 'fp-ts/Either'
import {
  type AllToAll,
  stepIoElementBytes,
  tileAxes,
  type BufferRole,
  type Chunks,
  type Copy,
  type Engine,
  type Instruction,
  type Offset,
  type Program
} from '../program/program'
import { elementSizes } from '../kernels/precision'
import { coordinatesOf, type Coordinates } from './boxes'
import { fail, instructionFault, operandFault, catchFault, rangeText, type Place, type VerifierFault } from './fault'
import { operandRegions, type OperandRegion, type Repeat } from './operand-regions'
import { isOptional, type Kernel } from '../kernels/kernels'
import { sectionsOf } from './sections'

/**
 * Something that holds bytes: a buffer of the arena or of the host pool, or one value of a
 * section's exchange buffer.
 */
export interface Store {
  readonly space: 'arena' | 'host' | 'exchange'
  readonly name: string
  /** Offset in the space, in bytes. */
  readonly offset: number
  readonly bytes: number
  readonly role?: BufferRole
}

/** A loop around an instruction. */
export interface OpenLoop {
  /** Position in tileAxes. */
  readonly axis: number
  readonly count: number
}

/** The bytes that an operand touches of a store in every iteration of the loops around it. */
export interface Access {
  readonly store: number
  readonly operand: string
  readonly use: 'read' | 'write' | 'accumulate' | 'scratch'
  /** First byte of the first iteration, from the store's start. */
  readonly base: number
  readonly repeats: readonly Repeat[]
  readonly run: number
  /** Bytes per tile along B, H, W; 0 outside a loop of that axis. */
  readonly strides: readonly [number, number, number]
  /** Half-open range of the store's bytes over all iterations. */
  readonly range: readonly [number, number]
}

export const sameBytes = (a: Access, b: Access): boolean =>
  a.base === b.base &&
  a.run === b.run &&
  a.repeats.length === b.repeats.length &&
  a.strides.every((stride, axis) => stride === b.strides[axis])

/** Memory at addresses of the arena, all in bytes. */
export interface Mapping {
  readonly address: number
  readonly memory: number
  readonly bytes: number
}

export type Event =
  | {
      readonly kind: 'access'
      readonly place: Place
      readonly engine: Engine
      /** Absent for copies, and where ranks exchange. */
      readonly kernel?: Kernel
      readonly accesses: readonly Access[]
      /** Which of the accesses begins a tile's backward. */
      readonly seed?: Access
    }
  | { readonly kind: 'loop'; readonly loop: OpenLoop; readonly body: readonly Event[] }
  | { readonly kind: 'record' | 'wait'; readonly place: Place; readonly engine: Engine; readonly event: number }
  | { readonly kind: 'map'; readonly place: Place; readonly mapping: Mapping }
  | { readonly kind: 'unmap'; readonly place: Place; readonly mapping: Omit<Mapping, 'memory'> }

/** A section as the bytes that it touches, in program order. */
export interface SectionEvents {
  readonly name: string
  readonly events: readonly Event[]
  /** The stores of its exchange buffer, from .. to. */
  readonly exchange: readonly [number, number]
}

export interface ProgramEvents {
  readonly stores: readonly Store[]
  readonly sections: readonly SectionEvents[]
  /** Coordinates in which the accesses to each store are boxes. */
  readonly coordinates: readonly Coordinates[]
}

const storesOf = (program: Program): { readonly stores: readonly Store[]; readonly exchanges: readonly (readonly [number, number])[] } => {
  const stores: Store[] = [
    ...program.buffers.map((buffer): Store => ({ space: 'arena', ...buffer })),
    ...program.hostBuffers.map((buffer): Store => ({ space: 'host', ...buffer }))
  ]
  const exchanges = sectionsOf(program).map(([, { stepIo }]) => {
    const first = stores.length
    for (const { name, type, shape, offset } of stepIo) {
      const bytes = shape.reduce((product, extent) => product * extent, stepIoElementBytes(type))
      stores.push({ space: 'exchange', name: `${name} of the exchange`, offset, bytes })
    }
    return [first, stores.length] as const
  })
  return { stores, exchanges }
}

const isCount = (value: number): boolean => Number.isSafeInteger(value) && value > 0

/** Returns how many bytes an address moves down and up over all iterations. */
const movement = (strides: readonly number[], loops: readonly OpenLoop[]): readonly [number, number] =>
  loops.reduce<readonly [number, number]>(
    ([down, up], { axis, count }) => {
      const reach = strides[axis]! * (count - 1)
      return [down + Math.min(0, reach), up + Math.max(0, reach)]
    },
    [0, 0]
  )

const spaceNames = { arena: 'the arena', host: 'the host pool', exchange: 'the exchange buffer' } as const

/** Reads a section's code; proves on the way that every access lies inside what it declares. */
const readSection = (
  program: Program,
  stores: readonly Store[],
  kernels: readonly (readonly OperandRegion[])[],
  section: string,
  exchange: readonly [number, number]
) => {
  const { exchangeBytes, code } = sectionsOf(program).find(([name]) => name === section)![1]
  const arenaBytes = program.chunks?.addressBytes ?? program.peakBytes

  const storeOf = (space: Store['space'], buffer: number | undefined, range: readonly [number, number]): number | undefined => {
    if (space !== 'exchange') {
      const [first, buffers] = space === 'arena' ? [0, program.buffers] : [program.buffers.length, program.hostBuffers]
      return buffer === undefined || buffers[buffer] === undefined ? undefined : first + buffer
    }
    for (let entry = exchange[0]; entry < exchange[1]; entry++) {
      const { offset, bytes } = stores[entry]!
      if (range[0] >= offset && range[1] <= offset + bytes) return entry
    }
    return undefined
  }

  const access = (
    place: Place,
    loops: readonly OpenLoop[],
    space: Store['space'],
    { base, strides, buffer }: Offset,
    { name, use, region }: OperandRegion
  ): Access => {
    const open = tileAxes.map((_, axis) => (loops.some((loop) => loop.axis === axis) ? strides[axis]! : 0))
    const [down, up] = movement(open, loops)
    const known = space === 'exchange' ? undefined : storeOf(space, buffer, [0, 0])
    const holder = known === undefined ? undefined : stores[known]
    const rest = holder === undefined ? 0 : holder.offset + holder.bytes - base - up
    const { start = 0, repeats, run } = region.kind === 'bytes' ? region : { repeats: [], run: rest }
    const fault = (kind: 'form' | 'bounds', range: readonly [number, number], sentence: string): VerifierFault =>
      operandFault(kind, place, name, holder?.name ?? spaceNames[space], range, sentence)
    const sane = Number.isSafeInteger(base) && strides.every(Number.isSafeInteger)
    const shaped = repeats.every(({ count, stride }) => isCount(count) && Number.isSafeInteger(stride) && stride >= 0)
    if (!(sane && shaped && (region.kind === 'rest' || isCount(run))))
      fail(fault('form', [0, 0], 'has an address or extents that are not whole numbers'))
    const reach = repeats.reduce((sum, { count, stride }) => sum + (count - 1) * stride, run)
    const first = base + start
    const range = [first + down, first + up + reach] as const
    const store = storeOf(space, buffer, range)
    if (space !== 'exchange' && store === undefined)
      return fail(fault('form', range, `does not say which buffer of ${spaceNames[space]} it means`))
    const limit = space === 'arena' ? arenaBytes : space === 'host' ? program.hostBytes : exchangeBytes
    if (range[0] < 0 || range[1] > limit)
      return fail(fault('bounds', range, `reaches ${rangeText(range)}, outside ${spaceNames[space]} of ${limit} bytes`))
    if (store === undefined)
      return fail(fault('bounds', range, `reaches ${rangeText(range)} of the exchange buffer, which are no one value's`))
    const { offset, bytes, name: holding } = stores[store]!
    if (run <= 0 || range[0] < offset || range[1] > offset + bytes) {
      const inside = [range[0] - offset, range[1] - offset] as const
      return fail(fault('bounds', inside, `reaches ${rangeText(inside)} of "${holding}", which has ${bytes}`))
    }
    return {
      store,
      operand: name,
      use: use === 'index' ? 'read' : use,
      base: first - offset,
      repeats,
      run,
      strides: [open[0]!, open[1]!, open[2]!],
      range: [range[0] - offset, range[1] - offset]
    }
  }

  const launch = (one: Extract<Instruction, { readonly kind: 'launch' }>, path: readonly number[], loops: readonly OpenLoop[]): Event => {
    const kernel = program.kernels[one.kernel]
    const regions = kernels[one.kernel]
    const place: Place = { section, path, kernel: kernel?.kind ?? `kernel ${one.kernel}` }
    if (kernel === undefined || regions === undefined) return fail(instructionFault('form', place, 'the Program has no such kernel'))
    if (one.operands.length !== regions.length)
      return fail(instructionFault('form', place, `has ${one.operands.length} operands instead of ${regions.length}`))
    let seed: Access | undefined
    const accesses: Access[] = []
    for (const [position, operand] of one.operands.entries()) {
      const region = regions[position]!
      const malformed = (sentence: string): never => fail(operandFault('form', place, region.name, '', [0, 0], sentence))
      if (region.region.kind === 'index') {
        if (operand.space !== 'index') malformed('is no index')
        const [down, up] = movement(operand.strides, loops)
        const [least, most] = [operand.base + down, operand.base + up]
        if (!(least >= 0 && most <= region.region.limit))
          fail(
            operandFault(
              'bounds',
              place,
              region.name,
              '',
              [0, 0],
              `takes the values ${least} .. ${most}, outside 0 .. ${region.region.limit}`
            )
          )
      } else if (operand.space === 'none') {
        if (!isOptional(kernel.kind, region.name)) malformed('is absent')
      } else if (operand.space === 'index') malformed('is an index instead of an address')
      else {
        const touched = access(place, loops, operand.space, operand, region)
        accesses.push(touched)
        if (position === one.seed) seed = touched
      }
    }
    return { kind: 'access', place, engine: one.engine ?? 'compute', kernel, accesses, ...(seed === undefined ? {} : { seed }) }
  }

  const copy = (one: Copy, path: readonly number[], loops: readonly OpenLoop[]): Event => {
    const place: Place = { section, path, kernel: `copy ${one.engine}` }
    const side = (space: 'arena' | 'host', offset: Offset, stride: number, use: 'read' | 'write'): Access => {
      const region = { kind: 'bytes', repeats: [{ count: one.rows, stride }], run: one.rowBytes } as const
      return access(place, loops, space, offset, { name: space === 'arena' ? 'device' : 'host', use, region })
    }
    const inwards = one.engine === 'to-device'
    const device = side('arena', one.device, one.deviceRowStride, inwards ? 'write' : 'read')
    const host = side('host', one.host, one.hostRowStride, inwards ? 'read' : 'write')
    const accesses = inwards ? [host, device] : [device, host]
    return { kind: 'access', place, engine: one.engine, accesses, ...(inwards && one.seed === true ? { seed: host } : {}) }
  }

  const allToAll = (one: AllToAll, path: readonly number[], loops: readonly OpenLoop[]): Event => {
    const place: Place = { section, path, kernel: one.kind }
    const { ranks, bytes, sendStride, receiveStride } = one
    if (loops.length > 0) fail(instructionFault('form', place, 'stands in a loop'))
    if (!isCount(ranks) || !isCount(bytes)) fail(instructionFault('form', place, `exchanges ${bytes} bytes with each of ${ranks} ranks`))
    if (ranks > 1 && receiveStride < bytes)
      fail(instructionFault('form', place, `receives ${bytes} bytes of each rank at places ${receiveStride} bytes apart`))
    const side = (offset: Offset, stride: number, name: string, use: 'read' | 'write'): Access =>
      access(place, loops, 'arena', offset, { name, use, region: { kind: 'bytes', repeats: [{ count: ranks, stride }], run: bytes } })
    const accesses = [side(one.send, sendStride, 'send', 'read'), side(one.receive, receiveStride, 'receive', 'write')]
    return { kind: 'access', place, engine: 'network', accesses }
  }

  const checkMapping = (
    place: Place,
    ends: readonly (readonly [from: number, bytes: number, limit: number])[],
    loops: readonly OpenLoop[]
  ): void => {
    const { chunks } = program
    if (chunks === undefined) return fail(instructionFault('form', place, 'the Program has no chunks'))
    if (loops.length > 0) fail(instructionFault('form', place, 'stands in a loop'))
    for (const [from, bytes, limit] of ends) {
      const whole = [from, bytes].every((one) => Number.isSafeInteger(one) && one % chunks.chunkBytes === 0)
      if (!whole || from < 0 || bytes <= 0 || from + bytes > limit)
        fail(instructionFault('bounds', place, `names ${rangeText([from, from + bytes])}, no whole chunks of ${limit} bytes`))
    }
  }

  const walk = (code: readonly Instruction[], path: readonly number[], loops: readonly OpenLoop[]): readonly Event[] =>
    code.map((one, position): Event => {
      const here = [...path, position]
      switch (one.kind) {
        case 'launch':
          return launch(one, here, loops)
        case 'copy':
          return copy(one, here, loops)
        case 'allToAll':
          return allToAll(one, here, loops)
        case 'record':
        case 'wait':
          return { ...one, place: { section, path: here, kernel: one.kind } }
        case 'map': {
          const place: Place = { section, path: here, kernel: one.kind }
          const { address, memory, bytes } = one
          checkMapping(
            place,
            [
              [address, bytes, arenaBytes],
              [memory, bytes, program.peakBytes]
            ],
            loops
          )
          return { kind: 'map', place, mapping: { address, memory, bytes } }
        }
        case 'unmap': {
          const place: Place = { section, path: here, kernel: one.kind }
          const { address, bytes } = one
          checkMapping(place, [[address, bytes, arenaBytes]], loops)
          return { kind: 'unmap', place, mapping: { address, bytes } }
        }
        case 'loop': {
          const loop: OpenLoop = { axis: tileAxes.indexOf(one.axis), count: one.count }
          const place: Place = { section, path: here, kernel: `loop ${one.axis}` }
          if (!isCount(one.count)) return fail(instructionFault('form', place, `runs ${one.count} times`))
          if (loops.some(({ axis }) => axis === loop.axis)) return fail(instructionFault('form', place, 'stands in a loop of its own axis'))
          return { kind: 'loop', loop, body: walk(one.body, here, [...loops, loop]) }
        }
      }
    })
  return walk(code, [], [])
}

/**
 * Strides that make boxes of the accesses: those between repetitions first; loops advance by
 * multiples of them.
 */
const coordinatesFor = (stores: readonly Store[], sections: readonly SectionEvents[]): readonly Coordinates[] => {
  const wanted = stores.map((): readonly [Set<number>, Set<number>] => [new Set(), new Set()])
  const gather = (events: readonly Event[]): void => {
    for (const event of events)
      if (event.kind === 'loop') gather(event.body)
      else if (event.kind === 'access')
        for (const { store, repeats } of event.accesses) {
          const [repeated, single] = wanted[store]!
          for (const { count, stride } of repeats) (count > 1 ? repeated : single).add(stride)
        }
  }
  sections.forEach(({ events }) => gather(events))
  return stores.map(({ bytes }, store) =>
    coordinatesOf(
      bytes,
      wanted[store]!.flatMap((strides) => [...strides].sort((a, b) => a - b))
    )
  )
}

const isSane = ({ chunkBytes, addressBytes, residentBytes }: Chunks, peakBytes: number): boolean =>
  isCount(chunkBytes) &&
  [addressBytes, residentBytes, peakBytes].every((bytes) => Number.isSafeInteger(bytes) && bytes >= 0 && bytes % chunkBytes === 0) &&
  residentBytes <= Math.min(addressBytes, peakBytes)

/** Every section as events over stores, or why some access does not lie where it says. */
export const programEvents = (program: Program): E.Either<VerifierFault, ProgramEvents> => {
  const { stores, exchanges } = storesOf(program)
  for (const space of ['arena', 'host'] as const) {
    const buffers = space === 'arena' ? program.buffers : program.hostBuffers
    const outside = buffers.find(({ offset, bytes }) => !(Number.isSafeInteger(offset) && offset >= 0 && isCount(bytes)))
    if (outside !== undefined)
      return E.left({ kind: 'form', message: `the buffer "${outside.name}" has no place in ${spaceNames[space]}.`, buffer: outside.name })
  }
  if (program.chunks !== undefined && !isSane(program.chunks, program.peakBytes))
    return E.left({ kind: 'form', message: "the Program's chunks, addresses and memory are no whole numbers of chunks." })
  return catchFault(() => {
    const kernels = program.kernels.map((kernel) => operandRegions(kernel, elementSizes(program.precision)))
    const sections = sectionsOf(program).map(([name], index): SectionEvents => ({
      name,
      events: readSection(program, stores, kernels, name, exchanges[index]!),
      exchange: exchanges[index]!
    }))
    return { stores, sections, coordinates: coordinatesFor(stores, sections) }
  })
}
