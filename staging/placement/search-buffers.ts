import { type Lifetime, alignUp } from './placement'
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

/** Buffers that live throughout, which can lie at the bottom of any placement, and the others. */
export interface Bottom {
  readonly isThroughout: (lifetime: Lifetime) => boolean
  /** Offsets in bytes of those that live throughout; 0 for the others. */
  readonly offsets: readonly number[]
  /** Bytes that they take together. */
  readonly height: number
  /** Indices of the others, but for those of no bytes. */
  readonly passing: readonly number[]
}

/** Lays the buffers that live throughout at the bottom. */
export const layBottom = (lifetimes: readonly Lifetime[], alignment: number): Bottom => {
  const start = lifetimes.reduce((earliest, { from }) => Math.min(earliest, from), Infinity)
  const end = lifetimes.reduce((latest, { to }) => Math.max(latest, to), 0)
  const isThroughout = ({ from, to }: Lifetime): boolean => from === start && to === end
  const offsets = lifetimes.map(() => 0)
  let height = 0
  lifetimes.forEach((lifetime, index) => {
    if (!isThroughout(lifetime)) return
    offsets[index] = height
    height += alignUp(lifetime.bytes, alignment)
  })
  const passing = lifetimes.flatMap((lifetime, index) => (isThroughout(lifetime) || lifetime.bytes === 0 ? [] : [index]))
  return { isThroughout, offsets, height, passing }
}
