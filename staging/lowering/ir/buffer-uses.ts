import { map } from 'fp-ts/Record'
import type { KernelRow, Use } from '../../kernels/kernel-row'
import { kernelTable, type KernelKind } from '../../kernels/kernels'
import type { BufferIdentity } from './buffer-identity'
import type { Buffer, Pool, UnplacedInstruction } from './builder'

/** Where code uses a buffer: positions at the top of the code, a loop being one. */
export interface BufferUses {
  readonly buffer: Buffer
  readonly at: number[]
  written: number
}

/** How each kernel uses its operands, in order. */
const operandUses = map(({ operands }: KernelRow): readonly Use[] => Object.values(operands))<KernelKind>(kernelTable)

/** How code uses the buffers that are wanted, in the order in which they are first used. */
export const collectUses = (
  code: readonly UnplacedInstruction[],
  { kernels }: Pick<Pool, 'kernels'>,
  isWanted: (identity: BufferIdentity) => boolean
): readonly BufferUses[] => {
  const known = new Map<number, BufferUses | undefined>()
  const use = (buffer: Buffer, at: number, writes: boolean): void => {
    let uses = known.get(buffer.id)
    if (uses === undefined) {
      if (known.has(buffer.id)) return
      uses = isWanted(buffer.identity) ? { buffer, at: [], written: -1 } : undefined
      known.set(buffer.id, uses)
      if (uses === undefined) return
    }
    if (uses.at.at(-1) !== at) uses.at.push(at)
    if (writes) uses.written = at
  }
  const walk = (list: readonly UnplacedInstruction[], position: number | undefined): void =>
    list.forEach((one, index) => {
      const at = position ?? index
      if (one.kind === 'loop') return walk(one.body, at)
      if (one.kind === 'copy') return use(one.device.buffer, at, one.engine === 'to-device')
      if (one.kind !== 'launch') return
      const uses = operandUses[kernels[one.kernel]!.kind]
      for (let place = 0; place < one.operands.length; place++) {
        const operand = one.operands[place]!
        if (operand.space === 'arena') use(operand.buffer, at, uses[place] !== 'read')
      }
    })
  walk(code, undefined)
  return [...known.values()].flatMap((uses) => uses ?? [])
}
