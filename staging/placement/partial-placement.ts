import type { SectionedBuffers } from './section-load'

/** Some buffers placed, the others with bounds, and a way back to what was before. */
export interface PartialPlacement {
  readonly buffers: SectionedBuffers
  readonly capacity: number
  /** Where what is placed lies; the lowest that each other buffer can lie at. */
  readonly offsets: Float64Array
  readonly isPlaced: Uint8Array
  /** Bytes that are left to place in each section. */
  readonly left: Float64Array
  /** Buffers left that are live on both sides of the boundary before each section. */
  readonly crossing: Int32Array
  /** Places a buffer at its offset. */
  readonly place: (buffer: number) => void
  readonly takeBack: (buffer: number) => void
  readonly raise: (buffer: number, offset: number) => void
  /** How many times something was raised. */
  readonly raises: () => number
  /** Lowers again what was raised since there were so many raises. */
  readonly lower: (raises: number) => void
  /** Nothing is placed or raised. */
  readonly clear: () => void
}

/** A placement within `capacity` bytes of which nothing is placed. */
export const createPartialPlacement = (buffers: SectionedBuffers, capacity: number): PartialPlacement => {
  const { sections, from, to, bytes } = buffers
  const count = bytes.length
  const offsets = new Float64Array(count)
  const isPlaced = new Uint8Array(count)
  const left = new Float64Array(sections)
  const crossing = new Int32Array(sections + 1)
  const raised: number[] = []
  const before: number[] = []

  const add = (buffer: number, sign: 1 | -1): void => {
    const [first, last] = [from[buffer]!, to[buffer]!]
    for (let section = first; section < last; section++) left[section]! += sign * bytes[buffer]!
    for (let section = first + 1; section < last; section++) crossing[section]! += sign
  }

  const clear = (): void => {
    for (const column of [offsets, isPlaced, left, crossing]) column.fill(0)
    raised.length = before.length = 0
    for (let buffer = 0; buffer < count; buffer++) add(buffer, 1)
  }

  clear()
  return {
    ...{ buffers, capacity, offsets, isPlaced, left, crossing, clear },
    place: (buffer) => {
      isPlaced[buffer] = 1
      add(buffer, -1)
    },
    takeBack: (buffer) => {
      isPlaced[buffer] = 0
      add(buffer, 1)
    },
    raise: (buffer, offset) => {
      raised.push(buffer)
      before.push(offsets[buffer]!)
      offsets[buffer] = offset
    },
    raises: () => raised.length,
    lower: (raises) => {
      while (raised.length > raises) offsets[raised.pop()!] = before.pop()!
    }
  }
}
