/**
 * Buffers over the sections of program order between which nothing is born or dies; the order is
 * the order of preference.
 */
export interface SectionedBuffers {
  readonly sections: number
  /** Buffers are live in sections [from, to). */
  readonly from: Int32Array
  readonly to: Int32Array
  /** Above zero. */
  readonly bytes: Float64Array
}

interface SearchResult {
  /** `impossible` is proved; `limit` leaves it open. */
  readonly verdict: 'found' | 'impossible' | 'limit'
  /** Positions tried. */
  readonly steps: number
  /** Offset of each buffer in bytes from the bottom; meaningful where found. */
  readonly offsets: Float64Array
}

/**
 * Entries of the list of buffers that are left at each depth: above, the memory would be better
 * spent on something else.
 */
const maxEntries = 2 ** 26

const grown = <A extends Int32Array | Float64Array>(array: A, wanted: number): A => {
  if (wanted <= array.length) return array
  const larger = new (array.constructor as new (length: number) => A)(Math.max(wanted, 2 * array.length))
  larger.set(array)
  return larger
}

/**
 * Searches for offsets within a capacity, depth first, in the manner of MiniMalloc (Moffitt, ASPLOS
 * 2023):
 * - canonical solutions: every buffer rests on another or on the bottom, and they are placed by
 *   offset, then by preference, so that the top of what is placed is all that a buffer's offset
 *   depends on, and no arrangement is met twice;
 * - dominance: none is placed so high that one which is left would fit below it;
 * - section bounds: in each section what is left must fit above the offsets that it can still have
 *   (as jobs with release dates on one machine: the latest release plus all that is released no
 *   earlier, over all releases);
 * - temporal decomposition: sections that no buffer which is left connects are searched apart.
 */
export const branchAndBound = ({ sections, from, to, bytes }: SectionedBuffers, capacity: number, stepLimit: number): SearchResult => {
  const count = bytes.length
  /** The lowest that each buffer can lie on what is placed; where it lies, once it is placed. */
  const offsets = new Float64Array(count)
  /**
   * Bytes that are left to place in each section, and buffers left that cross the boundary before
   * it.
   */
  const left = new Float64Array(sections)
  const crossing = new Int32Array(sections + 1)
  const load = new Float64Array(sections)

  /**
   * Lists of buffers that are left, by offset, then by preference: a frame's, then what its choice
   * leaves, then a part of that.
   */
  let entries = new Int32Array(4 * count)
  /** Offsets before they were raised. */
  let raised = new Int32Array(4 * count)
  let before = new Float64Array(4 * count)
  let raises = 0

  /**
   * Frames: a list [start, end) over sections [low, high), of which one is chosen at a time. The
   * first one only parts the sections.
   */
  const [start, end, low, high, cursor, chosen, raisesAt, restEnd, solvedTo, apart] = Array.from(
    { length: 10 },
    () => new Int32Array(count + 2)
  ) as [Int32Array, Int32Array, Int32Array, Int32Array, Int32Array, Int32Array, Int32Array, Int32Array, Int32Array, Int32Array]
  const dominated = new Float64Array(count + 2)
  const ceiling = new Float64Array(count + 2)

  let steps = 0
  /** The section that failed last is likely to fail again. */
  let suspect = 0

  const unplace = (buffer: number): void => {
    for (let section = from[buffer]!; section < to[buffer]!; section++) {
      left[section]! += bytes[buffer]!
      if (section > from[buffer]!) crossing[section]!++
    }
  }

  /** Takes a buffer out of what is left; whether that parts some sections from others. */
  const take = (buffer: number): boolean => {
    let parts = false
    for (let section = from[buffer]!; section < to[buffer]!; section++) {
      left[section]! -= bytes[buffer]!
      if (section > from[buffer]! && --crossing[section]! === 0) parts = true
    }
    return parts
  }

  /** Tells whether one section can hold what is left in it. */
  const sectionFits = (section: number, first: number, last: number, least: number): boolean => {
    let sum = 0
    for (let entry = last - 1; entry >= first; entry--) {
      const buffer = entries[entry]!
      if (from[buffer]! > section || to[buffer]! <= section) continue
      sum += bytes[buffer]!
      if (Math.max(offsets[buffer]!, least) + sum > capacity) return false
    }
    return true
  }

  /** Tells whether each of the sections [a, z) can, where nothing comes below `least` any more. */
  const fits = (first: number, last: number, a: number, z: number, least: number): boolean => {
    if (suspect >= a && suspect < z && !sectionFits(suspect, first, last, least)) return false
    load.fill(0, a, z)
    for (let entry = last - 1; entry >= first; entry--) {
      const buffer = entries[entry]!
      const size = bytes[buffer]!
      const room = capacity - Math.max(offsets[buffer]!, least)
      const stop = Math.min(to[buffer]!, z)
      for (let section = Math.max(from[buffer]!, a); section < stop; section++)
        if ((load[section]! += size) > room) {
          suspect = section
          return false
        }
    }
    return true
  }

  const open = (frame: number, first: number, last: number, a: number, z: number): void => {
    start[frame] = cursor[frame] = first
    end[frame] = last
    low[frame] = a
    high[frame] = z
    chosen[frame] = -1
    let top = Infinity
    let most = 0
    for (let entry = first; entry < last && offsets[entries[entry]!]! < top; entry++)
      top = Math.min(top, offsets[entries[entry]!]! + bytes[entries[entry]!]!)
    for (let section = a; section < z; section++) most = Math.max(most, left[section]!)
    dominated[frame] = top
    ceiling[frame] = capacity - most
  }

  /** Inserts a buffer into a list [first, last) in order of preference. */
  const insert = (buffer: number, first: number, last: number): void => {
    let place = last
    for (; place > first && entries[place - 1]! > buffer; place--) entries[place] = entries[place - 1]!
    entries[place] = buffer
  }

  /** Places an entry of a frame's list and lists what it leaves; whether that may still fit. */
  const choose = (frame: number, buffer: number): boolean => {
    const a = from[buffer]!
    const z = to[buffer]!
    const offset = offsets[buffer]!
    const top = offset + bytes[buffer]!
    const first = start[frame]!
    const last = end[frame]!
    entries = grown(entries, 3 * last - 2 * first)
    raised = grown(raised, raises + last - first)
    before = grown(before, raises + last - first)
    chosen[frame] = buffer
    raisesAt[frame] = raises
    const parts = take(buffer)
    apart[frame] = parts || a === low[frame] || z === high[frame] ? 1 : 0
    solvedTo[frame] = low[frame]!
    // Below the buffer's top: what does not meet it keeps its offset; then, by preference, what is
    // raised to the top or lay there.
    let entry = first
    let out = last
    for (; entry < last && offsets[entries[entry]!]! < top; entry++) {
      const other = entries[entry]!
      if (from[other]! >= z || to[other]! <= a) entries[out++] = other
    }
    const group = out
    let changedFrom = z
    let changedTo = a
    for (let below = first; below < entry; below++) {
      const other = entries[below]!
      if (other === buffer || from[other]! >= z || to[other]! <= a) continue
      raised[raises] = other
      before[raises++] = offsets[other]!
      offsets[other] = top
      changedFrom = Math.min(changedFrom, from[other]!)
      changedTo = Math.max(changedTo, to[other]!)
      insert(other, group, out++)
    }
    for (; entry < last && offsets[entries[entry]!] === top; entry++) insert(entries[entry]!, group, out++)
    entries.copyWithin(out, entry, last)
    restEnd[frame] = out + last - entry
    return changedFrom >= changedTo || fits(last, restEnd[frame]!, changedFrom, changedTo, offset)
  }

  /**
   * Takes back a frame's choice, and what was placed after it in sections that were solved apart.
   */
  const takeBack = (frame: number): void => {
    while (raises > raisesAt[frame]!) {
      raises--
      offsets[raised[raises]!] = before[raises]!
    }
    unplace(chosen[frame]!)
    for (let entry = end[frame]!; entry < restEnd[frame]!; entry++) if (to[entries[entry]!]! <= solvedTo[frame]!) unplace(entries[entry]!)
    chosen[frame] = -1
  }

  /** Chooses the next candidate of a frame that may work. */
  const advance = (frame: number): 'chosen' | 'none' | 'limit' => {
    const last = chosen[frame - 1]!
    const least = last === -1 ? 0 : offsets[last]!
    while (cursor[frame]! < end[frame]!) {
      const buffer = entries[cursor[frame]!++]!
      const offset = offsets[buffer]!
      if (offset < least || (offset === least && buffer < last)) continue
      if (offset >= dominated[frame]! || offset > ceiling[frame]!) return 'none'
      if (steps === stepLimit || end[frame]! > maxEntries) return 'limit'
      steps++
      if (choose(frame, buffer)) return 'chosen'
      takeBack(frame)
    }
    return 'none'
  }

  /**
   * Opens a frame for the next sections that a frame's choice leaves to be solved; false where all
   * are solved.
   */
  const descend = (frame: number): boolean => {
    const first = end[frame]!
    const last = restEnd[frame]!
    if (apart[frame] === 0) {
      if (solvedTo[frame] === high[frame] || first === last) return false
      open(frame + 1, first, last, low[frame]!, high[frame]!)
      return true
    }
    while (solvedTo[frame]! < high[frame]!) {
      const a = solvedTo[frame]!
      let z = a + 1
      while (z < high[frame]! && crossing[z]! > 0) z++
      let out = last
      for (let entry = first; entry < last; entry++) {
        const buffer = entries[entry]!
        if (from[buffer]! >= a && to[buffer]! <= z) entries[out++] = buffer
      }
      if (out > last) {
        open(frame + 1, last, out, a, z)
        return true
      }
      solvedTo[frame] = z
    }
    return false
  }

  const result = (verdict: SearchResult['verdict']): SearchResult => ({ verdict, steps, offsets })
  for (let buffer = 0; buffer < count; buffer++) {
    entries[buffer] = buffer
    unplace(buffer)
  }
  if (!fits(0, count, 0, sections, 0)) return result('impossible')
  chosen[0] = -1
  restEnd[0] = count
  high[0] = sections
  apart[0] = 1
  for (let frame = 0; ;) {
    // What is solved needs no second solution: its frames are left, up to one with sections still
    // to solve.
    while (!descend(frame)) {
      if (frame === 0) return result('found')
      solvedTo[frame - 1] = high[frame]!
      frame--
    }
    frame++
    for (let answer = advance(frame); answer !== 'chosen'; answer = advance(frame)) {
      if (answer === 'limit') return result('limit')
      if (--frame === 0) return result('impossible')
      takeBack(frame)
    }
  }
}
