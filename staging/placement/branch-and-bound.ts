import { type SectionLoad, type SectionedBuffers, createSectionLoad } from './section-load'

/** What a search for offsets within a capacity came to. */
export interface SearchResult {
  /** `impossible` is proved; `limit` leaves it open. */
  readonly verdict: 'found' | 'impossible' | 'limit'
  /** Positions tried. */
  readonly steps: number
  /** Offset of each buffer in bytes from the bottom; meaningful where found. */
  readonly offsets: Float64Array
}

/** What is left to place in some sections, and the buffer of it that is placed for now. */
interface Frame {
  /** Entries [start, end) are the buffers that are left, by offset, then by preference. */
  start: number
  end: number
  /** They lie in the sections [low, high). */
  low: number
  high: number
  /** The entry that is tried next. */
  cursor: number
  /** The buffer that is placed; -1 where none is. */
  chosen: number
  /** Entries [end, restEnd) are what it leaves. */
  restEnd: number
  /** How many offsets had been raised before it was placed. */
  raisesBefore: number
  /** What it leaves is placed in the sections before this one. */
  solvedTo: number
  /** Whether what it leaves may lie in sections that no buffer connects. */
  isApart: boolean
  /** From here on, one that is left would fit below what is placed. */
  dominated: number
  /** Above it, the fullest section cannot hold what is left in it. */
  ceiling: number
}

const emptyFrame = (): Frame => ({
  start: 0,
  end: 0,
  low: 0,
  high: 0,
  cursor: 0,
  chosen: -1,
  restEnd: 0,
  raisesBefore: 0,
  solvedTo: 0,
  isApart: false,
  dominated: Infinity,
  ceiling: Infinity
})

interface Search {
  readonly buffers: SectionedBuffers
  readonly capacity: number
  /** The lowest that each buffer can lie on what is placed; where it lies, once it is placed. */
  readonly offsets: Float64Array
  readonly load: SectionLoad
  /** Lists of buffers: a frame's, then what its choice leaves, then a part of that. */
  entries: Int32Array
  /** Buffers whose offsets were raised, and what they were before, the latest last. */
  raised: Int32Array
  before: Float64Array
  raises: number
}

/**
 * Entries of the list of buffers that are left at each depth: above, the memory would be better
 * spent on something else.
 */
const maxEntries = 2 ** 26

const grow = <A extends Int32Array | Float64Array>(array: A, wanted: number): A => {
  if (wanted <= array.length) return array
  const larger = new (array.constructor as new (length: number) => A)(Math.max(wanted, 2 * array.length))
  larger.set(array)
  return larger
}

/** Opens a frame over the entries [first, last), which lie in the sections [low, high). */
const openFrame = (search: Search, frame: Frame, first: number, last: number, low: number, high: number): void => {
  const { buffers, capacity, offsets, load, entries } = search
  const { bytes } = buffers
  frame.start = frame.cursor = first
  frame.end = last
  frame.low = low
  frame.high = high
  frame.chosen = -1
  let top = Infinity
  let most = 0
  for (let entry = first; entry < last && offsets[entries[entry]!]! < top; entry++)
    top = Math.min(top, offsets[entries[entry]!]! + bytes[entries[entry]!]!)
  for (let section = low; section < high; section++) most = Math.max(most, load.left[section]!)
  frame.dominated = top
  frame.ceiling = capacity - most
}

/** Inserts a buffer into a list [first, last) in order of preference. */
const insert = (entries: Int32Array, buffer: number, first: number, last: number): void => {
  let place = last
  for (; place > first && entries[place - 1]! > buffer; place--) entries[place] = entries[place - 1]!
  entries[place] = buffer
}

/** Places a buffer of a frame's list and lists what it leaves; whether that may still fit. */
const choose = (search: Search, frame: Frame, buffer: number): boolean => {
  const { buffers, offsets, load } = search
  const { from, to, bytes } = buffers
  const { start: first, end: last } = frame
  const entries = (search.entries = grow(search.entries, 3 * last - 2 * first))
  const raised = (search.raised = grow(search.raised, search.raises + last - first))
  const before = (search.before = grow(search.before, search.raises + last - first))
  const [a, z, offset] = [from[buffer]!, to[buffer]!, offsets[buffer]!]
  const top = offset + bytes[buffer]!
  frame.chosen = buffer
  frame.raisesBefore = search.raises
  frame.isApart = load.take(buffer) || a === frame.low || z === frame.high
  frame.solvedTo = frame.low
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
    raised[search.raises] = other
    before[search.raises++] = offsets[other]!
    offsets[other] = top
    changedFrom = Math.min(changedFrom, from[other]!)
    changedTo = Math.max(changedTo, to[other]!)
    insert(entries, other, group, out++)
  }
  for (; entry < last && offsets[entries[entry]!] === top; entry++) insert(entries, entries[entry]!, group, out++)
  entries.copyWithin(out, entry, last)
  frame.restEnd = out + last - entry
  return changedFrom >= changedTo || load.fits(entries, last, frame.restEnd, changedFrom, changedTo, offset, top)
}

/** Takes back a frame's choice, and what was placed after it in sections that are solved. */
const takeBack = (search: Search, frame: Frame): void => {
  const { buffers, offsets, load, entries, raised, before } = search
  while (search.raises > frame.raisesBefore) {
    search.raises--
    offsets[raised[search.raises]!] = before[search.raises]!
  }
  load.add(frame.chosen)
  for (let entry = frame.end; entry < frame.restEnd; entry++) if (buffers.to[entries[entry]!]! <= frame.solvedTo) load.add(entries[entry]!)
  frame.chosen = -1
}

/**
 * Finds the next entry of a frame that may be placed, after the buffer `last` of the frame before
 * it; -1 where there is none.
 */
const nextCandidate = ({ entries, offsets }: Search, frame: Frame, last: number): number => {
  const least = last === -1 ? 0 : offsets[last]!
  while (frame.cursor < frame.end) {
    const buffer = entries[frame.cursor++]!
    const offset = offsets[buffer]!
    if (offset < least || (offset === least && buffer < last)) continue
    return offset >= frame.dominated || offset > frame.ceiling ? -1 : buffer
  }
  return -1
}

/**
 * Opens `next` for the next sections that a frame's choice leaves to be solved; false where all are
 * solved.
 */
const descend = (search: Search, frame: Frame, next: Frame): boolean => {
  const { buffers, load, entries } = search
  const { from, to } = buffers
  const { end: first, restEnd: last, high } = frame
  if (!frame.isApart) {
    if (frame.solvedTo === high || first === last) return false
    openFrame(search, next, first, last, frame.low, high)
    return true
  }
  while (frame.solvedTo < high) {
    const low = frame.solvedTo
    let stop = low + 1
    while (stop < high && load.crossing[stop]! > 0) stop++
    let out = last
    for (let entry = first; entry < last; entry++) {
      const buffer = entries[entry]!
      if (from[buffer]! >= low && to[buffer]! <= stop) entries[out++] = buffer
    }
    if (out > last) {
      openFrame(search, next, last, out, low, stop)
      return true
    }
    frame.solvedTo = stop
  }
  return false
}

/** A search that has placed nothing, and its first frame, which only parts the sections. */
const createSearch = (buffers: SectionedBuffers, capacity: number): readonly [Search, Frame] => {
  const count = buffers.bytes.length
  const offsets = new Float64Array(count)
  const entries = new Int32Array(4 * count)
  for (let buffer = 0; buffer < count; buffer++) entries[buffer] = buffer
  const load = createSectionLoad(buffers, offsets, capacity)
  return [
    { buffers, capacity, offsets, load, entries, raised: new Int32Array(4 * count), before: new Float64Array(4 * count), raises: 0 },
    { ...emptyFrame(), restEnd: count, high: buffers.sections, isApart: true }
  ]
}

/**
 * Searches for offsets within a capacity, depth first, in the manner of MiniMalloc (Moffitt 2023):
 * - canonical solutions: every buffer rests on another or on the bottom, and they are placed by
 *   offset, then by preference, so that the top of what is placed is all that a buffer's offset
 *   depends on, and no arrangement is met twice;
 * - dominance: none is placed so high that one which is left would fit below it;
 * - section bounds: in each section what is left must fit above the offsets that it can still have
 *   (`SectionLoad.fits`);
 * - temporal decomposition: sections that no buffer which is left connects are searched apart.
 */
export const branchAndBound = (buffers: SectionedBuffers, capacity: number, stepLimit: number): SearchResult => {
  const [search, root] = createSearch(buffers, capacity)
  const frames = [root]
  let [depth, steps] = [0, 0]
  const result = (verdict: SearchResult['verdict']): SearchResult => ({ verdict, steps, offsets: search.offsets })

  /** Places the next buffer of the present frame that may work. */
  const advance = (): 'chosen' | 'none' | 'limit' => {
    const frame = frames[depth]!
    const last = frames[depth - 1]!.chosen
    for (let buffer = nextCandidate(search, frame, last); buffer !== -1; buffer = nextCandidate(search, frame, last)) {
      if (steps >= stepLimit || frame.end > maxEntries) return 'limit'
      steps++
      if (choose(search, frame, buffer)) return 'chosen'
      takeBack(search, frame)
    }
    return 'none'
  }

  if (!search.load.fits(search.entries, 0, root.restEnd, 0, buffers.sections, 0, 0)) return result('impossible')
  for (;;) {
    // What is solved needs no second solution: its frames are left, up to one with sections still
    // to solve.
    while (!descend(search, frames[depth]!, (frames[depth + 1] ??= emptyFrame()))) {
      if (depth === 0) return result('found')
      frames[depth - 1]!.solvedTo = frames[depth]!.high
      depth--
    }
    depth++
    for (let answer = advance(); answer !== 'chosen'; answer = advance()) {
      if (answer === 'limit') return result('limit')
      if (--depth === 0) return result('impossible')
      takeBack(search, frames[depth]!)
    }
  }
}
