import { stepIoElementBytes, type StepIoEntry, type Section } from '../../staging/program/program'

export type Numbers = Float32Array | Float64Array | Int32Array | Uint8Array

/** The caller's buffer of one section, and its values by name, as views into it. */
export interface StepIo {
  readonly buffer: ArrayBuffer
  readonly view: (name: string) => Numbers
  /** A value's bytes, in parts: all of a large one are more than one view holds. */
  readonly parts: (name: string) => readonly Uint8Array[]
}

export const partBytes = 2 ** 30

const elementCount = ({ shape }: StepIoEntry): number => shape.reduce((product, extent) => product * extent, 1)

const viewOf = (buffer: ArrayBuffer, entry: StepIoEntry): Numbers => {
  const { type, offset } = entry
  const elements = elementCount(entry)
  switch (type) {
    case 'uint8':
      return new Uint8Array(buffer, offset, elements)
    case 'int32':
      return new Int32Array(buffer, offset, elements)
    case 'float32':
      return new Float32Array(buffer, offset, elements)
    case 'float64':
      return new Float64Array(buffer, offset, elements)
  }
}

/** A zeroed buffer for a section of the Program. */
export const createStepIo = (section: Section): StepIo => {
  const buffer = new ArrayBuffer(section.exchangeBytes)
  const entries = new Map(section.stepIo.map((entry) => [entry.name, entry]))
  const entryOf = (name: string): StepIoEntry => {
    const entry = entries.get(name)
    if (entry === undefined) throw new Error(`the section exchanges no ${name}`)
    return entry
  }
  return {
    buffer,
    view: (name) => viewOf(buffer, entryOf(name)),
    parts: (name) => {
      const entry = entryOf(name)
      const bytes = elementCount(entry) * stepIoElementBytes(entry.type)
      return Array.from({ length: Math.ceil(bytes / partBytes) }, (_, index) => {
        const from = index * partBytes
        return new Uint8Array(buffer, entry.offset + from, Math.min(partBytes, bytes - from))
      })
    }
  }
}
