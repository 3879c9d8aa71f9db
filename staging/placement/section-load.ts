/**
 * Buffers over sections of program order, numbered in turn, such that two are live at once where
 * they share a section; the order is the order of preference.
 */
export interface SectionedBuffers {
  readonly sections: number
  /** Buffers are live in sections [from, to). */
  readonly from: Int32Array
  readonly to: Int32Array
  /** Above zero. */
  readonly bytes: Float64Array
}

/** Whether there is a section in which both buffers are live. */
export const meet = ({ from, to }: SectionedBuffers, a: number, b: number): boolean => from[a]! < to[b]! && from[b]! < to[a]!

/** What is left to place in each section, and whether it still fits. */
export interface SectionLoad {
  /** Bytes that are left to place in each section. */
  readonly left: Float64Array
  /** Buffers left that are live on both sides of the boundary before each section. */
  readonly crossing: Int32Array
  /** Counts a buffer among what is left. */
  readonly add: (buffer: number) => void
  /** Takes a buffer out of what is left; whether that parts some sections from others. */
  readonly take: (buffer: number) => boolean
  /**
   * Tells whether each of the sections [low, high) can hold the buffers in entries [first, last),
   * by offset, each on its offset at least, where nothing comes below `least` any more: as jobs
   * with release dates on one machine, the latest release plus all that is released no earlier,
   * over all releases. Of releases above `top` that is known, since none has been raised there.
   */
  readonly fits: (entries: Int32Array, first: number, last: number, low: number, high: number, least: number, top: number) => boolean
}

/** All buffers are left at first; `offsets` are the lowest that each can lie at, now. */
export const createSectionLoad = (
  { sections, from, to, bytes }: SectionedBuffers,
  offsets: Float64Array,
  capacity: number
): SectionLoad => {
  const left = new Float64Array(sections)
  const crossing = new Int32Array(sections + 1)
  /** What is left, in the sections that may not hold it. */
  const load = new Float64Array(sections)
  /** How many of those come before a section. */
  const rank = new Int32Array(sections + 1)
  /** The section that failed last is likely to fail again. */
  let suspect = 0

  const add = (buffer: number): void => {
    for (let section = from[buffer]!; section < to[buffer]!; section++) {
      left[section]! += bytes[buffer]!
      if (section > from[buffer]!) crossing[section]!++
    }
  }

  const take = (buffer: number): boolean => {
    let parts = false
    for (let section = from[buffer]!; section < to[buffer]!; section++) {
      left[section]! -= bytes[buffer]!
      if (section > from[buffer]! && --crossing[section]! === 0) parts = true
    }
    return parts
  }

  const sectionFits = (section: number, entries: Int32Array, first: number, last: number, least: number, top: number): boolean => {
    let sum = left[section]!
    for (let entry = first; entry < last && sum + top > capacity; entry++) {
      const buffer = entries[entry]!
      if (offsets[buffer]! > top) break
      if (from[buffer]! > section || to[buffer]! <= section) continue
      if (Math.max(offsets[buffer]!, least) + sum > capacity) return false
      sum -= bytes[buffer]!
    }
    return true
  }

  const fits: SectionLoad['fits'] = (entries, first, last, low, high, least, top) => {
    if (suspect >= low && suspect < high && !sectionFits(suspect, entries, first, last, least, top)) return false
    let count = 0
    for (let section = low; section < high; section++) {
      rank[section] = count
      if (left[section]! + top > capacity) load[count++] = left[section]!
    }
    if (count === 0) return true
    rank[high] = count
    for (let entry = first; entry < last; entry++) {
      const buffer = entries[entry]!
      if (offsets[buffer]! > top) return true
      if (from[buffer]! >= high || to[buffer]! <= low) continue
      const room = capacity - Math.max(offsets[buffer]!, least)
      const stop = rank[Math.min(to[buffer]!, high)]!
      for (let place = rank[Math.max(from[buffer]!, low)]!; place < stop; place++) {
        if (load[place]! > room) {
          suspect = rank.indexOf(place + 1, low + 1) - 1
          return false
        }
        load[place]! -= bytes[buffer]!
      }
    }
    return true
  }

  for (let buffer = 0; buffer < bytes.length; buffer++) add(buffer)
  return { left, crossing, add, take, fits }
}
