import type { Lifetime } from './placement'

/** One end of a range of memory that grows away from offset 0, with the holes that were freed inside. */
export interface Heap {
  /** The offset of the smallest hole that holds the bytes (best fit; the lowest of equals), else the end of what is in use. */
  readonly allocate: (bytes: number) => number
  readonly free: (offset: number, bytes: number) => void
  /** The end of what is in use now. */
  readonly top: () => number
}

interface Hole {
  start: number
  stop: number
}

export const openHeap = (): Heap => {
  const holes: Hole[] = []
  let top = 0
  return {
    top: () => top,
    allocate: (bytes) => {
      const fitting = holes.filter(({ start, stop }) => stop - start >= bytes)
      if (fitting.length === 0) return (top += bytes) - bytes
      const best = fitting.reduce((least, hole) => (hole.stop - hole.start < least.stop - least.start ? hole : least))
      const offset = best.start
      best.start += bytes
      if (best.start === best.stop) holes.splice(holes.indexOf(best), 1)
      return offset
    },
    free: (offset, bytes) => {
      const next = holes.findIndex(({ start }) => start > offset)
      const place = next === -1 ? holes.length : next
      const [before, after] = [holes[place - 1], holes[place]]
      const freed = { start: before?.stop === offset ? before.start : offset, stop: offset + bytes }
      if (after?.start === freed.stop) freed.stop = after.stop
      const [joinsBefore, joinsAfter] = [freed.start < offset, freed.stop > offset + bytes]
      holes.splice(place - (joinsBefore ? 1 : 0), (joinsBefore ? 1 : 0) + (joinsAfter ? 1 : 0), freed)
      if (freed.stop === top) {
        holes.splice(holes.indexOf(freed), 1)
        top = freed.start
      }
    }
  }
}

export interface OnlineEvents {
  readonly allocate: (index: number) => void
  readonly free: (index: number) => void
}

/** What a framework's allocator sees of a step, in program order: whatever dies at a moment is freed before what is born then. */
export const replay = (lifetimes: readonly Lifetime[], { allocate, free }: OnlineEvents): void => {
  const indices = lifetimes.flatMap(({ bytes }, index) => (bytes > 0 ? [index] : []))
  const births = [...indices].sort((a, b) => lifetimes[a]!.from - lifetimes[b]!.from || a - b)
  const deaths = [...indices].sort((a, b) => lifetimes[a]!.to - lifetimes[b]!.to || a - b)
  let dead = 0
  for (const index of births) {
    while (lifetimes[deaths[dead]!]!.to <= lifetimes[index]!.from) free(deaths[dead++]!)
    allocate(index)
  }
}
