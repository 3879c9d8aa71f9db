import type { PartialPlacement } from './partial-placement'

/** What is left of each section, above what is placed. */
export interface SectionFloors {
  /** The lowest offset that anything left in a section can have; Infinity where nothing is. */
  readonly floor: Float64Array
  /** How many of what is left can lie on the floor. */
  readonly onFloor: Int32Array
  /** The lowest offset above the floor that anything left in the section has now. */
  readonly above: Float64Array
  /** The lowest top that anything left in the section can have. */
  readonly lowestTop: Float64Array
  /** Finds them for a list of what is left, by offset. */
  readonly measure: (list: Int32Array, count: number) => void
  /**
   * The lowest that a buffer which crosses a boundary between sections can lie at. What lies below
   * it on either side is the same but for buffers that end or begin at the boundary: some of those
   * must bridge the difference of the floors, up to what the sections can waste (the balancing
   * knapsack of Beldiceanu 2008). 0 where that says nothing.
   */
  readonly crossingLevel: (boundary: number) => number
  /** Every buffer that crosses a boundary, placed or not. */
  readonly crossingAt: readonly Int32Array[]
}

/** Buffers that end or begin at a boundary: of more than these all subsets take too long. */
const maxBridging = 8

const indicesWhere = (count: number, holds: (index: number) => boolean): Int32Array =>
  Int32Array.from(Array.from({ length: count }, (_, index) => index).filter(holds))

/** The floors of a partial placement; `measure` finds them. */
export const createSectionFloors = ({ buffers, capacity, offsets, isPlaced, left }: PartialPlacement): SectionFloors => {
  const { sections, from, to, bytes } = buffers
  const columns = () => new Float64Array(sections)
  const [floor, above, lowestTop, onFloor] = [columns(), columns(), columns(), new Int32Array(sections)]
  const at = (holds: (buffer: number, boundary: number) => boolean): readonly Int32Array[] =>
    Array.from({ length: sections }, (_, boundary) => indicesWhere(bytes.length, (buffer) => holds(buffer, boundary)))
  const endingAt = at((buffer, boundary) => to[buffer] === boundary)
  const beginningAt = at((buffer, boundary) => from[buffer] === boundary)
  const crossingAt = at((buffer, boundary) => from[buffer]! < boundary && to[buffer]! > boundary)

  const measure = (list: Int32Array, count: number): void => {
    floor.fill(Infinity)
    above.fill(Infinity)
    lowestTop.fill(Infinity)
    for (let entry = 0; entry < count; entry++) {
      const buffer = list[entry]!
      const offset = offsets[buffer]!
      const top = offset + bytes[buffer]!
      for (let section = from[buffer]!, end = to[buffer]!; section < end; section++) {
        if (floor[section] === Infinity) {
          floor[section] = offset
          onFloor[section] = 1
        } else if (floor[section] === offset) onFloor[section]!++
        else if (above[section] === Infinity) above[section] = offset
        if (top < lowestTop[section]!) lowestTop[section] = top
      }
    }
  }

  const sums = { ending: new Float64Array(2 ** maxBridging), beginning: new Float64Array(2 ** maxBridging) }
  /** Sums of all subsets of what is left of some buffers, on a floor; how many; 0 for too many. */
  const subsetSums = (into: Float64Array, some: Int32Array, start: number): number => {
    let count = 1
    into[0] = start
    for (const buffer of some) {
      if (isPlaced[buffer]) continue
      if (2 * count > into.length) return 0
      for (let sum = 0; sum < count; sum++) into[count + sum] = into[sum]! + bytes[buffer]!
      count *= 2
    }
    return count
  }

  const crossingLevel = (boundary: number): number => {
    const [before, after] = [floor[boundary - 1]!, floor[boundary]!]
    if (before === Infinity || after === Infinity) return 0
    const [wasteBefore, wasteAfter] = [capacity - before - left[boundary - 1]!, capacity - after - left[boundary]!]
    const isBridged = (a: number, b: number): boolean => a - b >= -wasteBefore && a - b <= wasteAfter
    if (isBridged(before, after)) return Math.max(before, after)
    const ending = subsetSums(sums.ending, endingAt[boundary]!, before)
    const beginning = subsetSums(sums.beginning, beginningAt[boundary]!, after)
    if (ending === 0 || beginning === 0 || ending * beginning > 2 ** maxBridging) return 0
    let lowest = Infinity
    for (let a = 0; a < ending; a++)
      for (let b = 0; b < beginning; b++) {
        const level = Math.max(sums.ending[a]!, sums.beginning[b]!)
        if (level < lowest && isBridged(sums.ending[a]!, sums.beginning[b]!)) lowest = level
      }
    return lowest
  }
  return { floor, onFloor, above, lowestTop, measure, crossingLevel, crossingAt }
}
