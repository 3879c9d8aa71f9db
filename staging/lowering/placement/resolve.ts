import type { Address, Offset } from '../../program/address'
import type { Instruction } from '../../program/program'
import type { Message } from '../../program/rank-instructions'
import type { InBuffer, UnplacedInstruction, UnplacedMessage, UnplacedOperand } from '../ir/builder'

/** The offset of each unplaced buffer, and its index in the Program's list, by its id. */
export type Placed = ReadonlyMap<number, { readonly offset: number; readonly buffer: number }>

/** Code with addresses in place of buffers; every buffer that it names must be placed. */
export const resolve = (code: readonly UnplacedInstruction[], placed: Placed): readonly Instruction[] => {
  const address = (operand: UnplacedOperand): Address => {
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
      case 'allToAll':
        return { ...instruction, send: side(instruction.send), receive: side(instruction.receive) }
      case 'exchange': {
        const message = ({ at, ...one }: UnplacedMessage): Message => ({ ...one, at: side(at) })
        return { ...instruction, sends: instruction.sends.map(message), receives: instruction.receives.map(message) }
      }
      case 'ownSlice':
        return { ...instruction, from: side(instruction.from), to: side(instruction.to) }
      default: {
        const { kind, engine, event } = instruction
        return { kind, engine, event }
      }
    }
  })
}
