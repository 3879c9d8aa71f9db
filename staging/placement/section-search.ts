import type { SearchResult } from './branch-and-bound'
import { createPartialPlacement } from './partial-placement'
import { createSectionFloors } from './section-floors'
import { meet, type SectionedBuffers } from './section-load'

/** A section whose floor is to be covered, and what is tried for that. */
interface Frame {
  readonly section: number
  /** What can lie on the floor. */
  readonly candidates: readonly number[]
  /** One of each kind of them, the preferred first. */
  readonly tries: readonly number[]
  /** Whether all of them may also lie higher. */
  readonly mayRaise: boolean
  /** How many raises there were before any of it. */
  readonly raises: number
  /** No buffer left connects the sections [low, high) to others. */
  readonly low: number
  readonly high: number
  /** Which of them is tried next; one more than there are stands for none of them. */
  next: number
  /** The candidate that is placed; -1 where none is. */
  placed: number
}

interface SearchOptions {
  /** The preference of each buffer; the higher is tried first. */
  readonly preference: Float64Array
  /** The power of its failures by which a section is decided sooner. */
  readonly sharpness: number
  readonly stepLimit: number
}

type SectionSearch = (options: SearchOptions) => SearchResult

/**
 * Searches for offsets within a capacity, depth first, by sections: something that is left must lie
 * on a section's floor, or all that could must lie higher.
 * - Of all sections the one with the fewest ways is decided next, those first in which the search
 *   failed before (weighted degrees, Boussemart 2004); one way or none is an inference.
 * - Bounds: in each section what is left must fit above the offsets that it can still have, and a
 *   buffer across a boundary can only lie where both sides come out even.
 * - What fails in sections that no buffer left connects with others is not tried with other choices
 *   in those.
 *
 * What it learns of sections lasts from one search to the next.
 */
export const createSectionSearch = (buffers: SectionedBuffers, capacity: number): SectionSearch => {
  const { sections, from, to, bytes } = buffers
  const total = bytes.length
  const partial = createPartialPlacement(buffers, capacity)
  const { offsets, left, crossing } = partial
  const floors = createSectionFloors(partial)
  const { floor, onFloor, above, lowestTop } = floors
  const failures = new Float64Array(sections).fill(1)
  const weights = new Float64Array(sections)
  const load = new Float64Array(sections)
  /** What is left at each depth, by offset. */
  const lists: Int32Array[] = []
  const counts: number[] = []
  const frames: Frame[] = []
  /** The sections in which something was raised. */
  const raised = { from: 0, to: 0 }

  const isLive = (buffer: number, section: number): boolean => from[buffer]! <= section && to[buffer]! > section
  const areAlike = (a: number, b: number): boolean => from[a] === from[b] && to[a] === to[b] && bytes[a] === bytes[b]

  const raise = (buffer: number, offset: number): void => {
    partial.raise(buffer, offset)
    raised.from = Math.min(raised.from, from[buffer]!)
    raised.to = Math.max(raised.to, to[buffer]!)
  }

  /** Sorts a list that nearly is: later ones move down, past what is higher. */
  const settle = (list: Int32Array, entry: number, buffer: number): void => {
    let place = entry
    for (; place > 0 && offsets[list[place - 1]!]! > offsets[buffer]!; place--) list[place] = list[place - 1]!
    list[place] = buffer
  }

  /** A section of [low, high) that cannot hold what is left above its offsets; -1 where all can. */
  const findOverfull = (depth: number, low: number, high: number): number => {
    const list = lists[depth]!
    load.fill(0, low, high)
    for (let entry = counts[depth]! - 1; entry >= 0; entry--) {
      const buffer = list[entry]!
      const room = capacity - offsets[buffer]!
      const end = Math.min(to[buffer]!, high)
      for (let section = Math.max(from[buffer]!, low); section < end; section++)
        if ((load[section]! += bytes[buffer]!) > room) return section
    }
    return -1
  }

  /** Measures the floors at a depth and raises what crosses boundaries until nothing changes. */
  const infer = (depth: number): number => {
    const [list, count] = [lists[depth]!, counts[depth]!]
    for (;;) {
      floors.measure(list, count)
      raised.from = sections
      raised.to = 0
      for (let boundary = 1; boundary < sections; boundary++) {
        if (crossing[boundary] === 0) continue
        const level = floors.crossingLevel(boundary)
        if (level <= floor[boundary - 1]! && level <= floor[boundary]!) continue
        if (level === Infinity) return boundary
        for (const buffer of floors.crossingAt[boundary]!) if (!partial.isPlaced[buffer] && offsets[buffer]! < level) raise(buffer, level)
      }
      if (raised.to === 0) return -1
      for (let entry = 1; entry < count; entry++) settle(list, entry, list[entry]!)
      const overfull = findOverfull(depth, raised.from, raised.to)
      if (overfull !== -1) return overfull
    }
  }

  /** What can lie on a section's floor. */
  const candidatesOf = (depth: number, section: number): readonly number[] => {
    const [list, found]: readonly [Int32Array, number[]] = [lists[depth]!, []]
    for (let entry = 0; entry < counts[depth]! && offsets[list[entry]!]! <= floor[section]!; entry++)
      if (offsets[list[entry]!] === floor[section] && isLive(list[entry]!, section)) found.push(list[entry]!)
    return found
  }

  /** Whether nothing that is left can lie below a buffer. */
  const isGrounded = (buffer: number): boolean => {
    for (let section = from[buffer]!; section < to[buffer]!; section++) if (lowestTop[section]! <= offsets[buffer]!) return false
    return true
  }

  /** For the section with the fewest ways; those on the lowest floor are always allowed. */
  const openFrame = (depth: number, preference: Float64Array): Frame => {
    const [list, count] = [lists[depth]!, counts[depth]!]
    let smallest = Infinity
    for (let entry = 0; entry < count; entry++) smallest = Math.min(smallest, bytes[list[entry]!]!)
    const mayRaise = (section: number): boolean => Math.min(above[section]!, floor[section]! + smallest) + left[section]! <= capacity
    let [chosen, least] = [-1, Infinity]
    for (let section = 0; section < sections; section++) {
      if (floor[section] === Infinity) continue
      const ways = onFloor[section]! + (mayRaise(section) ? 1 : 0)
      // Of equals the lowest floor.
      const score = (ways - 1 + 0.001) / weights[section]! + (1e-9 * floor[section]!) / capacity
      if (score >= least) continue
      if (floor[section]! > offsets[list[0]!]! && !candidatesOf(depth, section).every(isGrounded)) continue
      chosen = section
      least = score
    }
    let [low, high] = [chosen, chosen + 1]
    while (crossing[low]! > 0) low--
    while (high < sections && crossing[high]! > 0) high++
    const candidates = candidatesOf(depth, chosen)
    const tries = candidates
      .filter((buffer, index) => !candidates.slice(0, index).some((other) => areAlike(other, buffer)))
      .sort((a, b) => preference[b]! - preference[a]! || a - b)
    return {
      ...{ section: chosen, candidates, tries, mayRaise: mayRaise(chosen), raises: partial.raises(), low, high },
      ...{ next: 0, placed: -1 }
    }
  }

  const undo = (frame: Frame): void => {
    partial.lower(frame.raises)
    if (frame.placed !== -1) partial.takeBack(frame.placed)
    frame.placed = -1
  }

  /** What is left at the next depth. */
  const list = (depth: number, without: number): void => {
    const [here, next] = [lists[depth]!, (lists[depth + 1] ??= new Int32Array(total))]
    let out = 0
    for (let entry = 0; entry < counts[depth]!; entry++) if (here[entry] !== without) settle(next, out++, here[entry]!)
    counts[depth + 1] = out
  }

  /** Places a buffer and raises what is left onto it. */
  const placeOnFloor = (depth: number, buffer: number): void => {
    const here = lists[depth]!
    const top = offsets[buffer]! + bytes[buffer]!
    partial.place(buffer)
    for (let entry = 0; entry < counts[depth]! && offsets[here[entry]!]! < top; entry++)
      if (here[entry] !== buffer && meet(buffers, here[entry]!, buffer)) raise(here[entry]!, top)
    list(depth, buffer)
  }

  /** Raises all candidates onto the lowest of what else could bear them; whether there is such. */
  const raiseAll = (depth: number, { candidates }: Frame): boolean => {
    const here = lists[depth]!
    const bearing = candidates.map((buffer) => {
      let least = Infinity
      for (let entry = 0; entry < counts[depth]!; entry++) {
        const other = here[entry]!
        if (other !== buffer && meet(buffers, other, buffer)) least = Math.min(least, offsets[other]! + bytes[other]!)
      }
      return least
    })
    candidates.forEach((buffer, index) => raise(buffer, bearing[index]!))
    list(depth, -1)
    return bearing.every((offset) => offset < Infinity)
  }

  /** Tries the next way of the last frame; a section that fails, -1 where none does. */
  const tryNext = (frame: Frame): number => {
    const depth = frames.length - 1
    raised.from = sections
    raised.to = 0
    const buffer = frame.tries[frame.next++]
    if (buffer === undefined) {
      if (!raiseAll(depth, frame)) return frame.section
    } else {
      frame.placed = buffer
      placeOnFloor(depth, buffer)
    }
    const overfull = raised.to > 0 ? findOverfull(depth + 1, raised.from, raised.to) : -1
    return overfull === -1 && counts[depth + 1]! > 0 ? infer(depth + 1) : overfull
  }

  /** Leaves the last frame, and those before it that have nothing to do with its failure. */
  const leave = (): void => {
    const { low, high } = frames.pop()!
    for (let frame = frames.at(-1); frame !== undefined; frame = frames.at(-1)) {
      undo(frame)
      if (frame.low < high && frame.high > low) return
      frames.pop()
    }
  }

  return ({ preference, sharpness, stepLimit }) => {
    const weigh = (section: number): void => void (weights[section] = failures[section]! ** sharpness)
    failures.forEach((_, section) => weigh(section))
    partial.clear()
    frames.length = 0
    lists[0] = Int32Array.from(bytes, (_, buffer) => buffer)
    counts[0] = total
    let steps = 0
    const result = (verdict: SearchResult['verdict']): SearchResult => ({ verdict, steps, offsets })
    if (total === 0) return result('found')
    if (findOverfull(0, 0, sections) !== -1 || infer(0) !== -1) return result('impossible')
    frames.push(openFrame(0, preference))
    for (let frame = frames.at(-1); frame !== undefined; frame = frames.at(-1)) {
      if (frame.next > frame.tries.length - (frame.mayRaise ? 0 : 1)) {
        leave()
        continue
      }
      if (steps === stepLimit) return result('limit')
      steps++
      const failed = tryNext(frame)
      if (failed !== -1) {
        failures[failed]!++
        weigh(failed)
        undo(frame)
      } else if (counts[frames.length] === 0) return result('found')
      else frames.push(openFrame(frames.length, preference))
    }
    return result('impossible')
  }
}
