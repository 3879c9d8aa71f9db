import type { SearchResult } from './branch-and-bound'
import { meet, type SectionedBuffers } from './section-load'

interface EjectionOptions {
  /** The preference of each buffer; the higher is placed sooner. */
  readonly preference: Float64Array
  readonly stepLimit: number
}

/** Comparisons of two buffers that take about as long as a step of a search by sections. */
const comparisonsOfStep = 4096

/** Buffers drawn after each that ejects others, to be moved to where they fit as well. */
const movesAfterEjection = 10

/**
 * Searches for offsets within a capacity by insertion and ejection (guided ejection search, Nagata
 * 2009): what is left is placed one by one, the last that was ejected first, where those that it
 * overlaps weigh least, and these are ejected. A buffer weighs the root of its area, and more each
 * time it found no room. Never proves anything; `noise` gives numbers from 0 to 1.
 */
export const createEjectionSearch = (
  buffers: SectionedBuffers,
  capacity: number,
  noise: () => number
): ((options: EjectionOptions) => SearchResult) => {
  const { from, to, bytes } = buffers
  const total = bytes.length
  const area = Float64Array.from(bytes, (size, buffer) => size * (to[buffer]! - from[buffer]!))
  const offsets = new Float64Array(total)
  const isPlaced = new Uint8Array(total)
  const weights = new Float64Array(total)
  const meeting: Int32Array[] = []
  const meetingOf = (buffer: number): Int32Array =>
    (meeting[buffer] ??= Int32Array.from(bytes.keys()).filter((other) => other !== buffer && meet(buffers, other, buffer)))

  /** What is placed and meets the buffer that is looked at. */
  const near = { weights: new Float64Array(total), low: new Float64Array(total), high: new Float64Array(total), count: 0 }
  let comparisons = 0
  const steps = (): number => Math.ceil(comparisons / comparisonsOfStep)
  /** The lightest place that was found, one of equals by chance. */
  const lightest = { offset: 0, weight: Infinity, equals: 0 }
  const lookAt = (offset: number, size: number): void => {
    const top = offset + size
    if (offset < 0 || top > capacity) return
    let weight = 0
    for (let index = 0; index < near.count; index++)
      if (near.low[index]! < top && near.high[index]! > offset && (weight += near.weights[index]!) > lightest.weight) {
        comparisons += index + 1
        return
      }
    comparisons += near.count
    if (weight < lightest.weight) {
      lightest.weight = weight
      lightest.equals = 0
    }
    if (noise() * ++lightest.equals < 1) lightest.offset = offset
  }
  /** Places beside what is there and at both ends; none that weighs more than `most`. */
  const findLightest = (buffer: number, most: number): void => {
    near.count = 0
    for (const other of meetingOf(buffer)) {
      if (isPlaced[other] === 0) continue
      near.weights[near.count] = weights[other]!
      near.low[near.count] = offsets[other]!
      near.high[near.count++] = offsets[other]! + bytes[other]!
    }
    const size = bytes[buffer]!
    lightest.weight = most
    lightest.equals = 0
    lookAt(0, size)
    lookAt(capacity - size, size)
    for (let index = 0; index < near.count; index++) {
      lookAt(near.high[index]!, size)
      lookAt(near.low[index]! - size, size)
    }
  }

  /** Ejects what a buffer would overlap, the largest last. */
  const eject = (buffer: number, left: number[]): void => {
    const top = lightest.offset + bytes[buffer]!
    const first = left.length
    for (const other of meetingOf(buffer))
      if (isPlaced[other] === 1 && offsets[other]! < top && offsets[other]! + bytes[other]! > lightest.offset) {
        isPlaced[other] = 0
        left.push(other)
      }
    left.push(...left.splice(first).sort((a, b) => area[a]! - area[b]! || a - b))
  }
  const moveSome = (stepLimit: number): void => {
    for (let move = 0; move < movesAfterEjection && steps() < stepLimit; move++) {
      const buffer = Math.floor(noise() * total)
      if (isPlaced[buffer] === 0) continue
      // There is such a place: below it, as far down as nothing is in the way.
      findLightest(buffer, 0)
      offsets[buffer] = lightest.offset
    }
  }

  return ({ preference, stepLimit }) => {
    isPlaced.fill(0)
    area.forEach((one, buffer) => (weights[buffer] = Math.sqrt(one)))
    const left = [...bytes.keys()].sort((a, b) => preference[a]! - preference[b]! || a - b)
    comparisons = 0
    while (left.length > 0) {
      if (steps() >= stepLimit) return { verdict: 'limit', steps: steps(), offsets }
      const buffer = left.pop()!
      findLightest(buffer, Infinity)
      const fits = lightest.weight === 0
      if (!fits) {
        weights[buffer]! += Math.sqrt(area[buffer]!)
        eject(buffer, left)
      }
      offsets[buffer] = lightest.offset
      isPlaced[buffer] = 1
      if (!fits) moveSome(stepLimit)
    }
    return { verdict: 'found', steps: steps(), offsets }
  }
}
