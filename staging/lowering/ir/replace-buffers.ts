import type { Buffer, UnplacedInstruction, UnplacedOperand } from './builder'

/** An instruction with other buffers on the device, where there are any for its own. */
export const replaceBuffers = (one: UnplacedInstruction, replacement: (buffer: Buffer) => Buffer | undefined): UnplacedInstruction => {
  const operand = <V extends UnplacedOperand>(each: V): V => {
    const other = each.space === 'arena' ? replacement(each.buffer) : undefined
    return other === undefined ? each : { ...each, buffer: other }
  }
  if (one.kind === 'loop') return { ...one, body: one.body.map((inner) => replaceBuffers(inner, replacement)) }
  if (one.kind === 'copy') return { ...one, device: operand(one.device) }
  return one.kind === 'launch' ? { ...one, operands: one.operands.map(operand) } : one
}
