import { elementCount } from '../../staging/graph/extents'
import type { DiskBuffer, MappedStepIo } from '../system/disk-buffer'
import { stepIoElementBytes, type StepIoEntry, type Section } from '../../staging/program/program'

/** A view of a value in an I/O buffer. */
export type Numbers = Float32Array | Float64Array | Int32Array | Uint8Array

/** The caller's buffer of one section, and its values by name, as views into it. */
export interface StepIo {
  readonly buffer: ArrayBuffer | MappedStepIo
  readonly view: (name: string) => Numbers
  /** A value's bytes, in parts: all of a large one are more than one view holds. */
  readonly parts: (name: string) => readonly Uint8Array[]
  /** Takes what was touched of it out of memory where it lies in a file; else does nothing. */
  readonly leaveToFile: () => void
}

/** An I/O buffer of a section that lies in memory, not in a file. */
export interface MemoryStepIo extends StepIo {
  readonly buffer: ArrayBuffer
}

/** Bytes of the largest part in which a value is handed out. */
export const partBytes = 2 ** 30

/** Copies the values that entries name, from where another section has them. */
export const copyTensors = (entries: readonly StepIoEntry[], from: Pick<StepIo, 'view'>, to: Pick<StepIo, 'view'>): void =>
  entries.forEach(({ name }) => to.view(name).set(from.view(name)))

const makeView = (buffer: ArrayBuffer, byteOffset: number, entry: StepIoEntry): Numbers => {
  const elements = elementCount(entry.shape)
  switch (entry.type) {
    case 'uint8':
      return new Uint8Array(buffer, byteOffset, elements)
    case 'int32':
      return new Int32Array(buffer, byteOffset, elements)
    case 'float32':
      return new Float32Array(buffer, byteOffset, elements)
    case 'float64':
      return new Float64Array(buffer, byteOffset, elements)
  }
}

/** Makes the I/O buffer of a section of a Program, in memory; its values are zeros. */
export function createStepIo(section: Section): MemoryStepIo
/**
 * Makes the I/O buffer of a section of a Program, in the file of `disk`, or in memory without one;
 * its values are zeros.
 */
export function createStepIo(section: Section, disk: DiskBuffer | undefined): StepIo
export function createStepIo(section: Section, disk?: DiskBuffer): StepIo {
  const memory = disk === undefined ? new ArrayBuffer(section.stepIoBytes) : undefined
  const entries = new Map(section.stepIo.map((entry) => [entry.name, entry]))
  const entryOf = (name: string): StepIoEntry => {
    const entry = entries.get(name)
    if (entry === undefined) throw new Error(`the section neither takes nor gives ${name}`)
    return entry
  }
  const partsOf = (entry: StepIoEntry): readonly Uint8Array[] => {
    const bytes = elementCount(entry.shape) * stepIoElementBytes(entry.type)
    return Array.from({ length: Math.ceil(bytes / partBytes) }, (_, index) => {
      const [from, length] = [entry.offset + index * partBytes, Math.min(partBytes, bytes - index * partBytes)]
      return memory === undefined ? new Uint8Array(disk!.part(from, length)) : new Uint8Array(memory, from, length)
    })
  }
  // Parts of a file are made once, since no two may overlap.
  const made = new Map<string, readonly Uint8Array[]>()
  const parts = (name: string): readonly Uint8Array[] => {
    const found = made.get(name) ?? partsOf(entryOf(name))
    made.set(name, found)
    return found
  }
  return {
    buffer: memory ?? disk!.stepIo,
    view: (name) => {
      const entry = entryOf(name)
      if (memory !== undefined) return makeView(memory, entry.offset, entry)
      const [first, ...others] = parts(name)
      if (first === undefined || others.length > 0) throw new Error(`${name} is more than one view holds`)
      return makeView(first.buffer as ArrayBuffer, first.byteOffset, entry)
    },
    parts,
    leaveToFile: () => disk?.leaveToFile()
  }
}
