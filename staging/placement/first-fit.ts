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

const overlaps = (a: Lifetime, b: Lifetime): boolean => a.from < b.to && b.from < a.to

/**
 * Offline placement: largest first, each at the lowest offset where it overlaps no placed buffer in time and space.
 * Buffers that live throughout go first, since they bound everything. Deterministic: ties keep their order.
 */
export const firstFit = (lifetimes: readonly Lifetime[]): Placement => {
  const end = lifetimes.reduce((latest, { to }) => Math.max(latest, to), 0)
  const throughout = ({ from, to }: Lifetime): boolean => from === 0 && to === end
  const order = lifetimes
    .map((_, index) => index)
    .sort((a, b) => {
      const [x, y] = [lifetimes[a]!, lifetimes[b]!]
      return Number(throughout(y)) - Number(throughout(x)) || y.bytes - x.bytes || a - b
    })
  const offsets = new Array<number>(lifetimes.length).fill(0)
  /** Placed buffers by offset, so that gaps are met in order. */
  const placed: number[] = []
  for (const index of order) {
    const wanted = lifetimes[index]!
    let offset = 0
    for (const other of placed) {
      if (!overlaps(lifetimes[other]!, wanted)) continue
      if (offsets[other]! >= offset + wanted.bytes) break
      offset = Math.max(offset, aligned(offsets[other]! + lifetimes[other]!.bytes))
    }
    offsets[index] = offset
    placed.splice(insertionPoint(placed, offsets, offset), 0, index)
  }
  return { offsets, peakBytes: lifetimes.reduce((peak, { bytes }, index) => Math.max(peak, offsets[index]! + bytes), 0) }
}

const insertionPoint = (placed: readonly number[], offsets: readonly number[], offset: number): number => {
  let [low, high] = [0, placed.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (offsets[placed[middle]!]! <= offset) low = middle + 1
    else high = middle
  }
  return low
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
