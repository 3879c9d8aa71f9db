/** A buffer to place: live in program order from `from` up to, not including, `to`. */
export interface Lifetime {
  readonly bytes: number
  readonly from: number
  readonly to: number
}

export interface Placement {
  /** Of each lifetime, in bytes, a multiple of the alignment. */
  readonly offsets: readonly number[]
  /** Highest byte in use, plus one. */
  readonly peakBytes: number
}

/** Cache lines, and the widest vectors that kernels load. */
export const alignment = 64

export const aligned = (bytes: number): number => Math.ceil(bytes / alignment) * alignment

/**
 * Offline placement: largest first, each at the lowest offset where it overlaps no placed buffer in time and space.
 * Buffers that live throughout lie below all others, since they bound everything. Deterministic: ties keep their order.
 */
export const firstFit = (lifetimes: readonly Lifetime[]): Placement => {
  const end = lifetimes.reduce((latest, { to }) => Math.max(latest, to), 0)
  const indices = lifetimes.map((_, index) => index)
  const throughout = (index: number): boolean => lifetimes[index]!.from === 0 && lifetimes[index]!.to === end
  const offsets = new Array<number>(lifetimes.length).fill(0)
  let floor = 0
  for (const index of indices.filter(throughout)) {
    offsets[index] = floor
    floor = aligned(floor + lifetimes[index]!.bytes)
  }
  const passing = indices.filter((index) => !throughout(index)).sort((a, b) => lifetimes[b]!.bytes - lifetimes[a]!.bytes || a - b)
  const placed = placedBuffers(passing.length)
  for (const index of passing) {
    const wanted = lifetimes[index]!
    offsets[index] = placed.lowestGap(wanted, floor)
    placed.insert(wanted, offsets[index]!)
  }
  return { offsets, peakBytes: lifetimes.reduce((peak, { bytes }, index) => Math.max(peak, offsets[index]! + bytes), 0) }
}

/** Placed buffers in order of offset, in typed arrays: plans with thousands of buffers compare every pair. */
const placedBuffers = (capacity: number) => {
  const [from, to, start, stop] = [0, 0, 0, 0].map(() => new Float64Array(capacity)) as [
    Float64Array,
    Float64Array,
    Float64Array,
    Float64Array
  ]
  let count = 0
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
    insert: (buffer: Lifetime, offset: number): void => {
      let place = count
      while (place > 0 && start[place - 1]! > offset) place--
      for (const column of [from, to, start, stop]) column.copyWithin(place + 1, place, count)
      from[place] = buffer.from
      to[place] = buffer.to
      start[place] = offset
      stop[place] = aligned(offset + buffer.bytes)
      count++
    }
  }
}

/** Most bytes live at once, and when: no placement can be lower. */
export const maxLive = (lifetimes: readonly Lifetime[]): { readonly bytes: number; readonly time: number } => {
  const events = lifetimes.flatMap(({ bytes, from, to }) => [
    { time: from, change: aligned(bytes) },
    { time: to, change: -aligned(bytes) }
  ])
  events.sort((a, b) => a.time - b.time || a.change - b.change)
  let live = 0
  let most = { bytes: 0, time: 0 }
  for (const { time, change } of events) {
    live += change
    if (live > most.bytes) most = { bytes: live, time }
  }
  return most
}
