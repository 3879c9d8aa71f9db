import type { Lifetime } from './placement'

/**
 * A heap that grows away from offset 0 from one end of a range of memory, with the holes that were
 * freed inside.
 */
interface Heap {
  /**
   * The offset of the smallest hole that holds the bytes (best fit; the lowest of equals), else the
   * end of what is in use.
   */
  readonly allocate: (bytes: number) => number
  readonly free: (offset: number, bytes: number) => void
  /** The end of what is in use now. */
  readonly top: () => number
}

interface Hole {
  readonly start: number
  readonly stop: number
}

/** A heap in which nothing is allocated. */
export const createHeap = (): Heap => {
  let holes: readonly Hole[] = []
  let top = 0
  const size = ({ start, stop }: Hole): number => stop - start
  const better = (a: Hole, b: Hole): Hole => (size(b) < size(a) || (size(b) === size(a) && b.start < a.start) ? b : a)
  return {
    top: () => top,
    allocate: (bytes) => {
      const fitting = holes.filter((hole) => size(hole) >= bytes)
      if (fitting.length === 0) return (top += bytes) - bytes
      const best = fitting.reduce(better)
      const rest = { start: best.start + bytes, stop: best.stop }
      holes = [...holes.filter((hole) => hole !== best), ...(size(rest) > 0 ? [rest] : [])]
      return best.start
    },
    free: (offset, bytes) => {
      const before = holes.find(({ stop }) => stop === offset)
      const after = holes.find(({ start }) => start === offset + bytes)
      const freed = { start: before?.start ?? offset, stop: after?.stop ?? offset + bytes }
      const others = holes.filter((hole) => hole !== before && hole !== after)
      const last = freed.stop === top
      holes = last ? others : [...others, freed]
      if (last) top = freed.start
    }
  }
}

interface OnlineEvents {
  readonly allocate: (index: number) => void
  readonly free: (index: number) => void
}

/**
 * Replays the events of a step that a framework's allocator sees, in program order: whatever dies
 * at a timepoint is freed before what is born then.
 */
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
