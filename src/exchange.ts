import type { Exchanged, Section } from '../staging/program'

export type Numbers = Float32Array | Float64Array | Int32Array | Uint8Array

/** The caller's buffer of one section, and its values by name, as views into it. */
export interface Exchange {
  readonly buffer: ArrayBuffer
  readonly view: (name: string) => Numbers
}

const viewOf = (buffer: ArrayBuffer, { type, shape, offset }: Exchanged): Numbers => {
  const elements = shape.reduce((product, extent) => product * extent, 1)
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
export const exchangeFor = (section: Section): Exchange => {
  const buffer = new ArrayBuffer(section.exchangeBytes)
  const entries = new Map(section.exchanged.map((entry) => [entry.name, entry]))
  return {
    buffer,
    view: (name) => {
      const entry = entries.get(name)
      if (entry === undefined) throw new Error(`the section exchanges no ${name}`)
      return viewOf(buffer, entry)
    }
  }
}
