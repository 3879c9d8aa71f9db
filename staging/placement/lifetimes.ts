import type { Buffer, UnplacedInstruction } from '../lowering/ir/builder'
import type { Lifetime } from './placement'

export interface BufferLifetime extends Lifetime {
  readonly buffer: Buffer
}

interface Range {
  from: number
  to: number
}

/** Buffers that an instruction outside of loops touches on one side of the link. */
export const touchedBy = (
  instruction: Exclude<UnplacedInstruction, { readonly kind: 'loop' }>,
  side: 'device' | 'host'
): readonly Buffer[] => {
  if (instruction.kind === 'copy') return [instruction[side].buffer]
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
  const buffers = new Map<number, Buffer>()
  const ranges = new Map<number, Range>()
  let time = 0

  /** Walks a list; returns the buffers touched in it. */
  const walk = (instructions: readonly UnplacedInstruction[]): Set<number> => {
    const touched = new Set<number>()
    for (const instruction of instructions) {
      if (instruction.kind !== 'loop') {
        for (const buffer of touchedBy(instruction, side)) {
          const { id } = buffer
          buffers.set(id, buffer)
          touched.add(id)
          const range = ranges.get(id)
          if (range === undefined) ranges.set(id, { from: time, to: time + 1 })
          else range.to = time + 1
        }
        time++
      } else {
        const start = time
        for (const id of walk(instruction.body)) {
          touched.add(id)
          loops.push({ id, from: start, to: time })
        }
      }
    }
    return touched
  }
  /**
   * What each loop touches: whatever turns out to be used before or after it must live through all
   * of it.
   */
  const loops: { readonly id: number; readonly from: number; readonly to: number }[] = []
  walk(code)
  for (const { id, from, to } of loops) {
    const range = ranges.get(id)!
    if (range.to > to || range.from < from) {
      range.from = Math.min(range.from, from)
      range.to = Math.max(range.to, to)
    }
  }
  for (const buffer of persistentTensors) {
    buffers.set(buffer.id, buffer)
    ranges.set(buffer.id, { from: 0, to: time })
  }
  return [...ranges].map(([id, range]) => ({ ...range, bytes: buffers.get(id)!.bytes, buffer: buffers.get(id)! }))
}
