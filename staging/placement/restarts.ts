import { type SearchResult, branchAndBound } from './branch-and-bound'
import { createEjectionSearch } from './ejection-search'
import type { SectionedBuffers } from './section-load'
import { createSectionSearch } from './section-search'

/** Term `index`, from 1, of 1 1 2 1 1 2 4 …, which is within a factor of the best (Luby 1993). */
const luby = (index: number): number => {
  const power = 2 ** Math.floor(Math.log2(index + 1))
  return index + 1 === power ? power / 2 : luby(index - power + 1)
}

/** Numbers from 0 to 1 that are the same each time (xorshift32). */
const createNoise = (): (() => number) => {
  let state = 0x2545f491
  return () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) / 2 ** 32
  }
}

/** The most by which noise makes a buffer more or less preferred. */
const mostNoise = 0.3

/** Whether sections that failed before come much sooner or somewhat: neither is always better. */
const sharpnesses = [1, 1 / 2]

/** Steps of the shortest search for each buffer. */
const stepsForBuffer = 5

/** Likewise by ejection, after rounds 1, 2, 4 and so on, each time twice as many. */
const ejectionStepsForBuffer = 15

/** Steps of branch-and-bound that take as long as one of a search by sections. */
export const stepsOfSectionStep = 10

/** Branch-and-bound by preference, the higher first; in steps of searches by sections. */
const branchAndBoundBy = (buffers: SectionedBuffers, preference: Float64Array, capacity: number, stepLimit: number): SearchResult => {
  const order = Int32Array.from(preference, (_, buffer) => buffer).sort((a, b) => preference[b]! - preference[a]! || a - b)
  const ordered: SectionedBuffers = {
    sections: buffers.sections,
    from: order.map((buffer) => buffers.from[buffer]!),
    to: order.map((buffer) => buffers.to[buffer]!),
    bytes: Float64Array.from(order, (buffer) => buffers.bytes[buffer]!)
  }
  const found = branchAndBound(ordered, capacity, stepsOfSectionStep * stepLimit)
  const offsets = new Float64Array(order.length)
  order.forEach((buffer, index) => (offsets[buffer] = found.offsets[index]!))
  return { ...found, steps: Math.ceil(found.steps / stepsOfSectionStep), offsets }
}

/**
 * Searches for offsets within a capacity again and again, with other preferences: long lives, large
 * areas or many bytes first, with some noise; by sections and by branch-and-bound in turn, and by
 * ejection now and then. Some find in moments what others never would, so most searches are short
 * (Gomes 1998). Deterministic; steps are those of searches by sections.
 */
export const searchWithRestarts = (buffers: SectionedBuffers, capacity: number, stepLimit: number): SearchResult => {
  const { from, to, bytes } = buffers
  const search = createSectionSearch(buffers, capacity)
  const noise = createNoise()
  const ejectionNoise = createNoise()
  const ejecting = createEjectionSearch(buffers, capacity, ejectionNoise)
  const traits: readonly ((buffer: number) => number)[] = [
    (buffer) => (to[buffer]! - from[buffer]!) * bytes[buffer]!,
    (buffer) => bytes[buffer]!,
    (buffer) => to[buffer]! - from[buffer]!
  ]
  let steps = 0
  /** What a search comes to, where that or the limit ends all of them. */
  const endedBy = (find: (limit: number) => SearchResult, wanted: number): SearchResult | undefined => {
    const found = find(Math.min(wanted, stepLimit - steps))
    steps += found.steps
    return found.verdict !== 'limit' || steps >= stepLimit ? { ...found, steps } : undefined
  }
  for (let round = 1; ; round++) {
    const sharpness = sharpnesses[round % sharpnesses.length]!
    const most = round === 1 ? 0 : mostNoise * noise()
    const preferenceBy = (trait: (buffer: number) => number, draw: () => number): Float64Array =>
      Float64Array.from(bytes, (_, buffer) => trait(buffer) * (1 + most * (2 * draw() - 1)))
    for (const trait of traits) {
      const preference = preferenceBy(trait, noise)
      const wanted = stepsForBuffer * luby(round) * bytes.length
      const ended =
        endedBy((limit) => search({ preference, sharpness, stepLimit: limit }), wanted) ??
        endedBy((limit) => branchAndBoundBy(buffers, preference, capacity, limit), wanted)
      if (ended !== undefined) return ended
    }
    if ((round & (round - 1)) !== 0) continue
    const preference = preferenceBy(traits[0]!, ejectionNoise)
    const ended = endedBy((limit) => ejecting({ preference, stepLimit: limit }), ejectionStepsForBuffer * round * bytes.length)
    if (ended !== undefined) return ended
  }
}
