import { type Lifetime, alignUp } from './placement'

/** How many of the first so many numbers, which rise, are no more than one: by bisection. */
const countUpTo = (numbers: Float64Array, count: number, most: number): number => {
  let [low, high] = [0, count]
  while (low < high) {
    const middle = (low + high) >> 1
    if (numbers[middle]! > most) high = middle
    else low = middle + 1
  }
  return low
}

/** Buffers in order of offset, in typed arrays that grow. */
const createShelf = () => {
  let capacity = 64
  let count = 0
  const createColumn = (old?: Float64Array): Float64Array => {
    const column = new Float64Array(capacity)
    if (old !== undefined) column.set(old)
    return column
  }
  let [from, to, start, stop] = [createColumn(), createColumn(), createColumn(), createColumn()]
  return {
    lowestGap: (wanted: Lifetime, floor: number): number => {
      let offset = floor
      for (let other = 0; other < count; other++) {
        if (from[other]! >= wanted.to || to[other]! <= wanted.from) continue
        if (start[other]! >= offset + wanted.bytes) break
        if (stop[other]! > offset) offset = stop[other]!
      }
      return offset
    },
    insert: (buffer: Lifetime, offset: number, end: number): void => {
      if (count === capacity) {
        capacity *= 2
        ;[from, to, start, stop] = [createColumn(from), createColumn(to), createColumn(start), createColumn(stop)]
      }
      const place = countUpTo(start, count, offset)
      for (const column of [from, to, start, stop]) column.copyWithin(place + 1, place, count)
      from[place] = buffer.from
      to[place] = buffer.to
      start[place] = offset
      stop[place] = end
      count++
    }
  }
}

/** So many buffers begin in a part of the time. */
const buffersOfPart = 64

/** Where what lives throughout would stand in too many. */
const mostParts = 128

/** Parts of the time in which about as many buffers begin: the part of a time. */
const partsOf = (lifetimes: readonly Lifetime[]): { readonly count: number; readonly partAt: (time: number) => number } => {
  const count = Math.max(1, Math.min(mostParts, Math.floor(lifetimes.length / buffersOfPart)))
  const begins = Float64Array.from(lifetimes, ({ from }) => from).sort()
  const bounds = Float64Array.from({ length: count - 1 }, (_, part) => begins[Math.floor(((part + 1) * begins.length) / count)]!)
  return { count, partAt: (time) => countUpTo(bounds, bounds.length, time) }
}

/** Buffers that are placed one after another. */
export interface PlacedBuffers {
  /** The lowest offset from `floor` on that is free for all of a lifetime. */
  readonly lowestGap: (wanted: Lifetime, floor: number) => number
  readonly insert: (buffer: Lifetime, offset: number) => void
}

/**
 * None yet, of these buffers. Most buffers of tiles live shortly: one that lives in one part of the
 * time is compared only with those that live there too.
 */
export const createPlacedBuffers = (lifetimes: readonly Lifetime[], alignment: number): PlacedBuffers => {
  const { count, partAt } = partsOf(lifetimes)
  const all = createShelf()
  const parts = Array.from({ length: count }, () => (count === 1 ? all : createShelf()))
  /** The first and the last part in which a buffer may live. */
  const spanOf = ({ from, to }: Lifetime): readonly [number, number] => [partAt(from), partAt(to)]
  return {
    lowestGap: (wanted, floor) => {
      const [first, last] = spanOf(wanted)
      return (first === last ? parts[first]! : all).lowestGap(wanted, floor)
    },
    insert: (buffer, offset) => {
      const end = alignUp(offset + buffer.bytes, alignment)
      all.insert(buffer, offset, end)
      if (count === 1) return
      const [first, last] = spanOf(buffer)
      for (let part = first; part <= last; part++) parts[part]!.insert(buffer, offset, end)
    }
  }
}
