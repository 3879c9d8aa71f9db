import type { Buffer, UnplacedInstruction } from '../lowering/ir/builder'
import type { Lifetime } from './placement'

/** A lifetime, and whose it is. */
export interface BufferLifetime extends Lifetime {
  readonly buffer: Buffer
}

interface Range {
  from: number
  to: number
  readonly buffer: Buffer
  /** The loop that last noted it. */
  loop: Loop | undefined
}

/** What a loop touches, some of it more than once. */
interface Loop {
  readonly touched: Range[]
}

/**
 * How far an instruction outside of loops moves the time of lifetimes: additions of what ranks have
 * sent do not, of which there are as many as ranks, so that placements are the same for any number.
 */
export const lengthOf = (instruction: Exclude<UnplacedInstruction, { readonly kind: 'loop' }>): 0 | 1 =>
  instruction.kind === 'launch' && instruction.engine === 'network' ? 0 : 1

/** Buffers that an instruction outside of loops touches on one side of the link. */
export const listTouchedBuffers = (
  instruction: Exclude<UnplacedInstruction, { readonly kind: 'loop' }>,
  side: 'device' | 'host'
): readonly Buffer[] => {
  if (instruction.kind === 'copy') return [instruction[side].buffer]
  if (instruction.kind === 'allToAll') return side === 'host' ? [] : [instruction.send.buffer, instruction.receive.buffer]
  if (instruction.kind === 'exchange')
    return side === 'host' ? [] : [...instruction.sends, ...instruction.receives].map(({ at }) => at.buffer)
  if (instruction.kind === 'ownSlice') return side === 'host' ? [] : [instruction.from.buffer, instruction.to.buffer]
  if (instruction.kind !== 'launch') return instruction[side] === undefined ? [] : [instruction[side]]
  return side === 'host' ? [] : instruction.operands.flatMap((operand) => (operand.space === 'arena' ? [operand.buffer] : []))
}

/**
 * Lifetimes in program order, on the device or in the host pool. A buffer that is touched inside a
 * loop and outside it lives through the whole loop, since later iterations come after earlier ones;
 * persistent tensors live throughout.
 */
export const computeLifetimes = (
  code: readonly UnplacedInstruction[],
  persistentTensors: readonly Buffer[],
  side: 'device' | 'host' = 'device'
): readonly BufferLifetime[] => {
  const ranges = new Map<number, Range>()
  let time = 0
  const note = (range: Range, loop: Loop | undefined): void => {
    if (loop === undefined || range.loop === loop) return
    range.loop = loop
    loop.touched.push(range)
  }
  const touch = (buffer: Buffer, loop: Loop | undefined): void => {
    let range = ranges.get(buffer.id)
    if (range === undefined) ranges.set(buffer.id, (range = { from: time, to: time + 1, buffer, loop: undefined }))
    else range.to = time + 1
    note(range, loop)
  }
  /**
   * What each loop touches, inner ones first: whatever turns out to be used before or after it must
   * live through all of it.
   */
  const loops: { readonly touched: readonly Range[]; readonly from: number; readonly to: number }[] = []
  const walk = (instructions: readonly UnplacedInstruction[], around: Loop | undefined): void => {
    for (const instruction of instructions) {
      if (instruction.kind === 'loop') {
        const [loop, from]: readonly [Loop, number] = [{ touched: [] }, time]
        walk(instruction.body, loop)
        loops.push({ touched: loop.touched, from, to: time })
        loop.touched.forEach((range) => note(range, around))
      } else {
        if (instruction.kind === 'launch' && side === 'device') {
          for (const operand of instruction.operands) if (operand.space === 'arena') touch(operand.buffer, around)
        } else for (const buffer of listTouchedBuffers(instruction, side)) touch(buffer, around)
        time += lengthOf(instruction)
      }
    }
  }
  walk(code, undefined)
  for (const { touched, from, to } of loops)
    for (const range of touched)
      if (range.to > to || range.from < from) {
        range.from = Math.min(range.from, from)
        range.to = Math.max(range.to, to)
      }
  for (const buffer of persistentTensors) ranges.set(buffer.id, { from: 0, to: time, buffer, loop: undefined })
  return [...ranges.values()].map(({ from, to, buffer }) => ({ from, to, bytes: buffer.bytes, buffer }))
}
