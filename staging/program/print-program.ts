import { kernelTable, getKernelRow, type Kernel } from '../kernels/kernels'
import type { FieldType } from '../kernels/kernel-fields'
import { layouts } from '../kernels/layout'
import type { Address, Offset } from './address'
import { sectionNames, tileAxes, type Instruction, type Program, type Section } from './program'
import type { ProgramBuffer } from './program-buffer'

const bytesText = (bytes: number): string => `${bytes} ${bytes === 1 ? 'byte' : 'bytes'}`

/** ' + 128 H' for 128 bytes from one tile to the next along the height. */
const stridesText = (strides: Address['strides']): string =>
  tileAxes.flatMap((axis, place) => (strides[place] === 0 ? [] : [` + ${strides[place]} ${axis}`])).join('')

/** What lies at an offset, and where: the buffer's text, and the first byte. */
const offsetText = (buffers: readonly ProgramBuffer[], { buffer, base, strides }: Offset): string => {
  const name = buffer === undefined ? 'unnamed' : buffers[buffer]!.name
  return `${name} @ ${base}${stridesText(strides)}`
}

const operandText = ({ buffers }: Program, address: Address): string => {
  switch (address.space) {
    case 'none':
      return 'none'
    case 'arena':
      return offsetText(buffers, address)
    case 'stepIo':
      return `stepIo @ ${address.base}${stridesText(address.strides)}`
    case 'index':
      return `${address.base}${stridesText(address.strides)}`
  }
}

const fieldText = (type: FieldType, field: string, value: number | readonly number[]): string => {
  const text = type === 'layout' && typeof value === 'number' ? layouts[value] : [value].flat().join(',')
  return `${field}=${text}`
}

/** A kernel's kind and its fields, by their names. */
const kernelText = (kernel: Kernel): string => {
  const { kind, ...fields } = kernel
  return [kind, ...Object.entries(fields).map(([field, value]) => fieldText(getKernelRow(kind).fields[field]!, field, value))].join(' ')
}

const launchText = (program: Program, launch: Extract<Instruction, { readonly kind: 'launch' }>): readonly string[] => {
  const kernel = program.kernels[launch.kernel]!
  const uses = Object.entries(kernelTable[kernel.kind].operands)
  const width = Math.max(...uses.map(([name]) => name.length))
  return [
    kernelText(kernel) + (launch.engine === undefined ? '' : ` on ${launch.engine}`),
    ...uses.map(([name, use], place) => `    ${name.padEnd(width)} ${use}: ${operandText(program, launch.operands[place]!)}`)
  ]
}

const instructionLines = (program: Program, instruction: Instruction): readonly string[] => {
  const { buffers, hostBuffers } = program
  switch (instruction.kind) {
    case 'launch':
      return launchText(program, instruction)
    case 'loop':
      return [
        `for ${instruction.count} tiles along ${instruction.axis}:`,
        ...instruction.body.flatMap((one) => indent(instructionLines(program, one)))
      ]
    case 'copy': {
      const { engine, rows, rowBytes, device, host } = instruction
      const [inArena, onHost] = [offsetText(buffers, device), `host ${offsetText(hostBuffers, host)}`]
      const [from, to] = engine === 'to-host' ? [inArena, onHost] : [onHost, inArena]
      return [`copy ${engine}: ${rows} x ${bytesText(rowBytes)} from ${from} to ${to}`]
    }
    case 'allToAll': {
      const { ranks, apart, bytes, sendStride, receiveStride, send, receive } = instruction
      return [
        `network: ${bytesText(bytes)} to and from each of ${ranks} ranks${apart > 1 ? `, ${apart} apart` : ''}`,
        `    sent     ${offsetText(buffers, send)} + ${sendStride} a rank`,
        `    received ${offsetText(buffers, receive)} + ${receiveStride} a rank`
      ]
    }
    case 'exchange':
      return [
        `network: rows to and from some of ${instruction.ranks} ranks`,
        ...instruction.sends.map(({ rank, bytes, at }) => `    sent     ${bytesText(bytes)} to rank ${rank}: ${offsetText(buffers, at)}`),
        ...instruction.receives.map(({ rank, bytes, at }) => `    received ${bytesText(bytes)} of rank ${rank}: ${offsetText(buffers, at)}`)
      ]
    case 'ownSlice': {
      const { ranks, bytes, from, to } = instruction
      return [`this rank's of ${ranks} slices of ${bytesText(bytes)} from ${offsetText(buffers, from)} to ${offsetText(buffers, to)}`]
    }
    case 'record':
      return [`${instruction.engine} records event ${instruction.event}`]
    case 'wait':
      return [`${instruction.engine} waits for event ${instruction.event}`]
    case 'map':
      return [`map ${bytesText(instruction.bytes)} of memory from ${instruction.memory} on at ${instruction.address}`]
    case 'unmap':
      return [`unmap ${bytesText(instruction.bytes)} at ${instruction.address}`]
  }
}

const indent = (lines: readonly string[]): readonly string[] => lines.map((line) => `  ${line}`)

const sectionLines = (program: Program, name: string, { code, stepIoBytes, stepIo }: Section): readonly string[] => [
  '',
  `${name}: takes and gives ${bytesText(stepIoBytes)}`,
  ...stepIo.map((one) => `  ${one.name}: ${one.type} ${one.shape.join('x')} @ ${one.offset}`),
  ...code.flatMap((one) => indent(instructionLines(program, one)))
]

const bufferLines = (title: string, buffers: readonly ProgramBuffer[]): readonly string[] =>
  buffers.length === 0
    ? []
    : ['', `${title}:`, ...buffers.map(({ name, offset, bytes, role }) => `  ${name}: ${bytesText(bytes)} @ ${offset}, ${role}`)]

/**
 * A Program for people: the arena's and the host pool's buffers, then each section's instructions
 * in order. A launch has a line for its kernel and fields and one for each operand, with the
 * buffer's text and the address of its first byte; what a loop runs stands indented under it, and
 * its addresses grow by so many bytes a tile.
 */
export const printProgram = (program: Program): string => {
  const { precision, threads, peakBytes, hostBytes, input, pages } = program
  const header = [
    `${precision}, input ${input.join('x')}, ${threads} ${threads === 1 ? 'thread' : 'threads'}`,
    `arena: ${bytesText(peakBytes)}${pages === undefined ? '' : `, in pages of ${bytesText(pages.pageBytes)}`}; host pool: ${bytesText(hostBytes)}`
  ]
  const sections = sectionNames.flatMap((name) => (program[name] === undefined ? [] : sectionLines(program, name, program[name])))
  const lines = [...header, ...bufferLines('buffers', program.buffers), ...bufferLines('host buffers', program.hostBuffers), ...sections]
  return `${lines.join('\n')}\n`
}
