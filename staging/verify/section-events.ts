import { isOptional } from '../kernels/kernels'
import type { Offset } from '../program/address'
import { tileAxes, type Copy, type Instruction, type Program } from '../program/program'
import type { AllToAll, Exchange, Message, OwnSlice } from '../program/rank-instructions'
import { arenaBytes, isCount, locateAccess, movement, type SectionStores } from './accesses'
import type { Access, Event, OpenLoop } from './events'
import { fail, instructionFault, operandFault, rangeText, type InstructionPlace } from './fault'
import type { OperandRegion } from './operand-regions'

/** A section that is read: its name, its stores, and what each kernel of the Program touches. */
interface ReadSection extends SectionStores {
  readonly name: string
  readonly kernels: readonly (readonly OperandRegion[])[]
}

const readLaunch = (
  section: ReadSection,
  one: Extract<Instruction, { readonly kind: 'launch' }>,
  path: readonly number[],
  loops: readonly OpenLoop[]
): Event => {
  const { program, kernels } = section
  const kernel = program.kernels[one.kernel]
  const regions = kernels[one.kernel]
  const place: InstructionPlace = { section: section.name, path, kernel: kernel?.kind ?? `kernel ${one.kernel}` }
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
      const touched = locateAccess(section, place, loops, operand.space, operand, region)
      accesses.push(touched)
      if (position === one.seed) seed = touched
    }
  }
  return { kind: 'access', place, engine: one.engine ?? 'compute', kernel, accesses, ...(seed === undefined ? {} : { seed }) }
}

const readCopy = (section: ReadSection, one: Copy, path: readonly number[], loops: readonly OpenLoop[]): Event => {
  const place: InstructionPlace = { section: section.name, path, kernel: `copy ${one.engine}` }
  const side = (space: 'arena' | 'host', offset: Offset, stride: number, use: 'read' | 'write'): Access => {
    const region = { kind: 'bytes', repeats: [{ count: one.rows, stride }], run: one.rowBytes } as const
    return locateAccess(section, place, loops, space, offset, { name: space === 'arena' ? 'device' : 'host', use, region })
  }
  const inwards = one.engine === 'to-device'
  const device = side('arena', one.device, one.deviceRowStride, inwards ? 'write' : 'read')
  const host = side('host', one.host, one.hostRowStride, inwards ? 'read' : 'write')
  const accesses = inwards ? [host, device] : [device, host]
  return { kind: 'access', place, engine: one.engine, accesses, ...(inwards && one.seed === true ? { seed: host } : {}) }
}

const readAllToAll = (section: ReadSection, one: AllToAll, path: readonly number[], loops: readonly OpenLoop[]): Event => {
  const place: InstructionPlace = { section: section.name, path, kernel: one.kind }
  const { ranks, bytes, sendStride, receiveStride } = one
  if (loops.length > 0) fail(instructionFault('form', place, 'stands in a loop'))
  if (!isCount(ranks) || !isCount(bytes)) fail(instructionFault('form', place, `exchanges ${bytes} bytes with each of ${ranks} ranks`))
  if (ranks > 1 && receiveStride < bytes)
    fail(instructionFault('form', place, `receives ${bytes} bytes of each rank at places ${receiveStride} bytes apart`))
  const side = (offset: Offset, stride: number, name: string, use: 'read' | 'write'): Access => {
    const region = { kind: 'bytes', repeats: [{ count: ranks, stride }], run: bytes } as const
    return locateAccess(section, place, loops, 'arena', offset, { name, use, region })
  }
  const accesses = [side(one.send, sendStride, 'send', 'read'), side(one.receive, receiveStride, 'receive', 'write')]
  return { kind: 'access', place, engine: 'network', accesses }
}

const readExchange = (section: ReadSection, one: Exchange, path: readonly number[], loops: readonly OpenLoop[]): Event => {
  const place: InstructionPlace = { section: section.name, path, kernel: one.kind }
  if (loops.length > 0) fail(instructionFault('form', place, 'stands in a loop'))
  const side = (messages: readonly Message[], name: string, use: 'read' | 'write'): readonly Access[] =>
    messages.map(({ rank, bytes, at }, position) => {
      const before = messages[position - 1]?.rank ?? -1
      if (!isCount(bytes) || !(rank > before && rank < one.ranks))
        fail(
          instructionFault('form', place, `has a message of ${bytes} bytes for rank ${rank} of ${one.ranks} after that for rank ${before}`)
        )
      return locateAccess(section, place, loops, 'arena', at, { name, use, region: { kind: 'bytes', repeats: [], run: bytes } })
    })
  return {
    kind: 'access',
    place,
    engine: 'network',
    accesses: [...side(one.sends, 'send', 'read'), ...side(one.receives, 'receive', 'write')]
  }
}

const readOwnSlice = (section: ReadSection, one: OwnSlice, path: readonly number[], loops: readonly OpenLoop[]): Event => {
  const place: InstructionPlace = { section: section.name, path, kernel: one.kind }
  const { ranks, bytes, engine } = one
  if (loops.length > 0) fail(instructionFault('form', place, 'stands in a loop'))
  if (!isCount(ranks) || !isCount(bytes)) fail(instructionFault('form', place, `takes one of ${ranks} slices of ${bytes} bytes`))
  const side = (offset: Offset, run: number, name: string, use: 'read' | 'write'): Access =>
    locateAccess(section, place, loops, 'arena', offset, { name, use, region: { kind: 'bytes', repeats: [], run } })
  return { kind: 'access', place, engine, accesses: [side(one.from, ranks * bytes, 'from', 'read'), side(one.to, bytes, 'to', 'write')] }
}

/** Fails unless a map or unmap stands outside of loops and names whole pages. */
const checkMapping = (
  { pages }: Program,
  place: InstructionPlace,
  ends: readonly (readonly [from: number, bytes: number, limit: number])[],
  loops: readonly OpenLoop[]
): void => {
  if (pages === undefined) return fail(instructionFault('form', place, 'the Program has no pages'))
  if (loops.length > 0) fail(instructionFault('form', place, 'stands in a loop'))
  for (const [from, bytes, limit] of ends) {
    const whole = [from, bytes].every((one) => Number.isSafeInteger(one) && one % pages.pageBytes === 0)
    if (!whole || from < 0 || bytes <= 0 || from + bytes > limit)
      fail(instructionFault('bounds', place, `names ${rangeText([from, from + bytes])}, no whole pages of ${limit} bytes`))
  }
}

/**
 * Reads instructions that stand at `path` within these loops; proves on the way that every access
 * lies inside what it declares.
 */
export const readInstructions = (
  section: ReadSection,
  code: readonly Instruction[],
  path: readonly number[] = [],
  loops: readonly OpenLoop[] = []
): readonly Event[] =>
  code.map((one, position): Event => {
    const { name, program } = section
    const here = [...path, position]
    switch (one.kind) {
      case 'launch':
        return readLaunch(section, one, here, loops)
      case 'copy':
        return readCopy(section, one, here, loops)
      case 'allToAll':
        return readAllToAll(section, one, here, loops)
      case 'exchange':
        return readExchange(section, one, here, loops)
      case 'ownSlice':
        return readOwnSlice(section, one, here, loops)
      case 'record':
      case 'wait':
        return { ...one, place: { section: name, path: here, kernel: one.kind } }
      case 'map': {
        const place: InstructionPlace = { section: name, path: here, kernel: one.kind }
        const { address, memory, bytes } = one
        checkMapping(
          program,
          place,
          [
            [address, bytes, arenaBytes(program)],
            [memory, bytes, program.peakBytes]
          ],
          loops
        )
        return { kind: 'map', place, mapping: { address, memory, bytes } }
      }
      case 'unmap': {
        const place: InstructionPlace = { section: name, path: here, kernel: one.kind }
        const { address, bytes } = one
        checkMapping(program, place, [[address, bytes, arenaBytes(program)]], loops)
        return { kind: 'unmap', place, mapping: { address, bytes } }
      }
      case 'loop': {
        const loop: OpenLoop = { axis: tileAxes.indexOf(one.axis), count: one.count }
        const place: InstructionPlace = { section: name, path: here, kernel: `loop ${one.axis}` }
        if (!isCount(one.count)) return fail(instructionFault('form', place, `runs ${one.count} times`))
        if (loops.some(({ axis }) => axis === loop.axis)) return fail(instructionFault('form', place, 'stands in a loop of its own axis'))
        return { kind: 'loop', loop, body: readInstructions(section, one.body, here, [...loops, loop]) }
      }
    }
  })
