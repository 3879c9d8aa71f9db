import { encodeKernel, kernelTable, type Kernel } from '../../staging/kernels/kernels'
import { spaces } from '../../staging/program/address'
import { engines, opcodes, sectionNames, tileAxes, type Instruction, type Program } from '../../staging/program/program'

/** Numbers that one instruction takes; see staging/program/program.ts. */
const encodedLength = (instruction: Instruction): number =>
  instruction.kind === 'launch'
    ? 3 + 5 * instruction.operands.length
    : instruction.kind === 'loop'
      ? 4 + codeLength(instruction.body)
      : instruction.kind === 'copy'
        ? 14
        : instruction.kind === 'allToAll'
          ? 14
          : instruction.kind === 'exchange'
            ? 4 + 3 * (instruction.sends.length + instruction.receives.length)
            : instruction.kind === 'ownSlice'
              ? 11
              : instruction.kind === 'map'
                ? 4
                : 3

const codeLength = (code: readonly Instruction[]): number => code.reduce((sum, instruction) => sum + encodedLength(instruction), 0)

const launchCodes = { compute: opcodes.launch, 'to-device': opcodes.load, network: opcodes.networkLaunch } as const

const spaceCodes: Readonly<Record<string, number>> = Object.fromEntries(spaces.map((space, code) => [space, code]))

/**
 * Writes `code` from `start` on and returns where it ends: programs are long, so no list is built
 * in between.
 */
const write = (numbers: Float64Array, start: number, code: readonly Instruction[]): number => {
  let at = start
  for (const instruction of code) {
    if (instruction.kind === 'loop') {
      numbers[at] = opcodes.loop
      numbers[at + 1] = tileAxes.indexOf(instruction.axis)
      numbers[at + 2] = instruction.count
      const end = write(numbers, at + 4, instruction.body)
      numbers[at + 3] = end - (at + 4)
      at = end
    } else if (instruction.kind === 'copy') {
      const { engine, rows, rowBytes, deviceRowStride, hostRowStride, device, host } = instruction
      const offsets = [device, host].flatMap(({ base, strides }) => [base, ...strides])
      numbers.set([opcodes.copy, engines.indexOf(engine), rows, rowBytes, deviceRowStride, hostRowStride, ...offsets], at)
      at += encodedLength(instruction)
    } else if (instruction.kind === 'allToAll') {
      const { ranks, apart, bytes, sendStride, receiveStride, send, receive } = instruction
      const offsets = [send, receive].flatMap(({ base, strides }) => [base, ...strides])
      numbers.set([opcodes.allToAll, ranks, apart, bytes, sendStride, receiveStride, ...offsets], at)
      at += encodedLength(instruction)
    } else if (instruction.kind === 'exchange') {
      const { ranks, sends, receives } = instruction
      const messages = [...sends, ...receives].flatMap(({ rank, bytes, at }) => [rank, bytes, at.base])
      numbers.set([opcodes.exchange, ranks, sends.length, receives.length, ...messages], at)
      at += encodedLength(instruction)
    } else if (instruction.kind === 'ownSlice') {
      const { ranks, bytes, from, to } = instruction
      numbers.set([opcodes.ownSlice, ranks, bytes, ...[from, to].flatMap(({ base, strides }) => [base, ...strides])], at)
      at += encodedLength(instruction)
    } else if (instruction.kind === 'map') {
      numbers.set([opcodes.map, instruction.address, instruction.memory, instruction.bytes], at)
      at += encodedLength(instruction)
    } else if (instruction.kind === 'unmap') {
      numbers.set([opcodes.unmap, instruction.address, instruction.bytes], at)
      at += encodedLength(instruction)
    } else if (instruction.kind !== 'launch') {
      numbers.set([opcodes[instruction.kind], engines.indexOf(instruction.engine), instruction.event], at)
      at += encodedLength(instruction)
    } else {
      numbers[at++] = launchCodes[instruction.engine ?? 'compute']
      numbers[at++] = instruction.kernel
      numbers[at++] = instruction.operands.length
      for (const { space, base, strides } of instruction.operands) {
        numbers[at++] = spaceCodes[space]!
        numbers[at++] = base
        for (const stride of strides) numbers[at++] = stride
      }
    }
  }
  return at
}

const encodeCode = (code: readonly Instruction[]): Float64Array => {
  const numbers = new Float64Array(codeLength(code))
  write(numbers, 0, code)
  return numbers
}

/** The fields of kernels, one kernel after another, as the addon takes them. */
export const encodeKernels = (kernels: readonly Kernel[]): Float64Array => Float64Array.from(kernels.flatMap(encodeKernel))

/** The largest arena, I/O buffer or host pool, in bytes. */
const largestSpace = 2 ** 46

/** The operand whose size the device decides, by its place; -1 where there is none. */
const unsizedOperand = ({ kind }: Kernel): number =>
  Object.keys(kernelTable[kind].operands).findIndex((name) => name === 'scratch' || name === 'indices')

/**
 * For each kernel the bytes that its scratch or indices may take in any launch: what its buffer
 * has, where it is in one.
 */
const encodeWorkspaces = ({ kernels, buffers, ...sections }: Program): Float64Array => {
  const workspaces = new Float64Array(kernels.length).fill(largestSpace)
  const operands = kernels.map(unsizedOperand)
  const walk = (code: readonly Instruction[]): void => {
    for (const one of code)
      if (one.kind === 'loop') walk(one.body)
      else if (one.kind === 'launch' && operands[one.kernel]! >= 0) {
        const { base, buffer } = one.operands[operands[one.kernel]!]!
        const held = buffer === undefined ? undefined : buffers[buffer]
        if (held !== undefined) workspaces[one.kernel] = Math.min(workspaces[one.kernel]!, held.offset + held.bytes - base)
      }
  }
  for (const name of sectionNames) walk(sections[name]?.code ?? [])
  return workspaces
}

/** A Program as the addon takes it. */
export interface EncodedProgram {
  readonly threads: number
  readonly hostBytes: number
  readonly peakBytes: number
  /**
   * Bytes of a page under virtual addressing; 0 where there is none, as in the two fields that
   * follow.
   */
  readonly pageBytes: number
  readonly addressBytes: number
  readonly residentBytes: number
  readonly input: Float64Array
  readonly kernels: Float64Array
  /** Bytes, for each kernel, of the operand whose size the device decides. */
  readonly workspaces: Float64Array
  readonly sections: readonly { readonly name: string; readonly code: Float64Array; readonly stepIoBytes: number }[]
}

/** Encodes a Program as numbers, which the addon decodes and checks again. */
export const encodeProgram = (program: Program): EncodedProgram => ({
  threads: program.threads,
  hostBytes: program.hostBytes,
  peakBytes: program.peakBytes,
  ...(program.pages ?? { pageBytes: 0, addressBytes: 0, residentBytes: 0 }),
  input: Float64Array.from(program.input),
  kernels: encodeKernels(program.kernels),
  workspaces: encodeWorkspaces(program),
  sections: sectionNames.flatMap((name) => {
    const section = program[name]
    return section === undefined ? [] : [{ name, code: encodeCode(section.code), stepIoBytes: section.stepIoBytes }]
  })
})
