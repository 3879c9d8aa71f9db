import { firstFitAround } from './first-fit'
import { type Lifetime, type Placement, alignUp, makePlacement } from './placement'
import type { SectionedBuffers } from './section-load'

/** A buffer to search a place for, with what it is preferred by. */
export interface Sought {
  readonly index: number
  readonly from: number
  readonly to: number
  readonly bytes: number
  /** Most bytes live at once during its lifetime. */
  readonly total: number
  readonly width: number
  readonly area: number
}

type Trait = 'total' | 'width' | 'area'

/** MiniMalloc's orders of preference: which of the buffers that could come next is tried first. */
export const preferences: readonly (readonly Trait[])[] = [
  ['total', 'width', 'area'],
  ['total', 'area', 'width'],
  ['width', 'area', 'total']
]

/**
 * Numbers the sections of some lifetimes: of the times between which nothing is born or dies, those
 * in which more is live than before the births behind them and than after the deaths ahead of
 * them. What is live in the others is live in one of these too. Gives for each time of a birth or
 * a death the sections before it.
 */
const numberSections = (lifetimes: readonly Lifetime[]) => {
  const [births, deaths] = [new Set(lifetimes.map(({ from }) => from)), new Set(lifetimes.map(({ to }) => to))]
  const sectionsBefore = new Map<number, number>()
  let sections = 0
  let isFresh = false
  for (const time of [...new Set([...births, ...deaths])].sort((a, b) => a - b)) {
    if (isFresh && deaths.has(time)) {
      sections++
      isFresh = false
    }
    sectionsBefore.set(time, sections)
    if (births.has(time)) isFresh = true
  }
  return { sectionsBefore, sections }
}

/** Buffers in the sections in which they are live. */
export const makeSearchBuffers = (lifetimes: readonly Lifetime[], indices: readonly number[], alignment: number) => {
  const { sectionsBefore, sections } = numberSections(indices.map((index) => lifetimes[index]!))
  const load = new Float64Array(sections)
  const placed = indices.map((index) => {
    const { from, to, bytes } = lifetimes[index]!
    const one = { index, from: sectionsBefore.get(from)!, to: sectionsBefore.get(to)!, bytes: alignUp(bytes, alignment), width: to - from }
    for (let section = one.from; section < one.to; section++) load[section]! += one.bytes
    return one
  })
  const sought = placed.map((one): Sought => {
    const total = load.subarray(one.from, one.to).reduce((most, bytes) => Math.max(most, bytes), 0)
    return { ...one, total, area: one.width * one.bytes }
  })
  return { sought, sections }
}

/** Buffers in an order of preference. */
export const orderedBy = (sought: readonly Sought[], sections: number, traits: readonly Trait[]) => {
  const difference = (a: Sought, b: Sought): number => traits.reduce((sum, trait) => sum || b[trait] - a[trait], 0) || a.index - b.index
  const buffers = [...sought].sort(difference)
  const sectioned: SectionedBuffers = {
    sections,
    from: Int32Array.from(buffers, ({ from }) => from),
    to: Int32Array.from(buffers, ({ to }) => to),
    bytes: Float64Array.from(buffers, ({ bytes }) => bytes)
  }
  return { buffers, sectioned }
}

/**
 * Buffers that live throughout, which can lie at the bottom of any placement. Offsets of the others
 * are searched above them, by index.
 */
export interface Bottom {
  /** Bytes that buffers which live throughout take together. */
  readonly height: number
  /** Indices of the others, but for those of no bytes. */
  readonly passing: readonly number[]
  /** All as they were found. */
  readonly placeAll: (found: ReadonlyMap<number, number>) => Placement
  /** Some as they were found, the rest between them by first-fit. */
  readonly placeAround: (found: ReadonlyMap<number, number>) => Placement
}

/** Lays the buffers that live throughout at the bottom. */
export const layBottom = (lifetimes: readonly Lifetime[], alignment: number): Bottom => {
  const start = lifetimes.reduce((earliest, { from }) => Math.min(earliest, from), Infinity)
  const end = lifetimes.reduce((latest, { to }) => Math.max(latest, to), 0)
  const bottom = new Map<number, number>()
  let height = 0
  lifetimes.forEach(({ from, to, bytes }, index) => {
    if (from !== start || to !== end) return
    bottom.set(index, height)
    height += alignUp(bytes, alignment)
  })
  const onBottom = (found: ReadonlyMap<number, number>): ReadonlyMap<number, number> =>
    new Map([...bottom, ...[...found].map(([index, offset]) => [index, height + offset] as const)])
  return {
    height,
    passing: lifetimes.flatMap(({ bytes }, index) => (bottom.has(index) || bytes === 0 ? [] : [index])),
    placeAll: (found) => {
      const offsets = onBottom(found)
      return makePlacement(
        lifetimes,
        lifetimes.map((_, index) => offsets.get(index) ?? 0),
        alignment
      )
    },
    placeAround: (found) => firstFitAround(lifetimes, onBottom(found), alignment)
  }
}
