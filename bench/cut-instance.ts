import { randomStream } from '../src/numbers/random'
import type { Lifetime } from '../staging'

/** A rectangle of time by units of memory. */
interface Rectangle {
  readonly from: number
  readonly to: number
  readonly low: number
  readonly high: number
}

/** A whole number from `from` to `to`, both included. */
type Draw = (from: number, to: number) => number

/** Buffers to place that are known to fit, since they were cut out of a filled rectangle. */
export interface CutInstance {
  readonly name: string
  readonly lifetimes: readonly Lifetime[]
  /** Offsets in bytes where all fit: what was cut, put together. */
  readonly offsets: readonly number[]
  /** Bytes in which all fit; no fewer where there is no slack. */
  readonly capacity: number
}

/** How an instance is cut. */
export interface CutOptions {
  readonly seed: number
  readonly buffers: number
  /** Moments of time that lifetimes begin and end at. */
  readonly timepoints: number
  /** Share of time by capacity that no buffer takes. */
  readonly slack: number
}

/** Bytes of capacity and of its smallest part: those of the public instances. */
const [capacity, unit] = [2 ** 20, 2 ** 10]

/** Two parts of a rectangle, cut through; as many as one where it is a unit wide. */
const cutThrough = (rectangle: Rectangle, draw: Draw, inTime: boolean): readonly Rectangle[] => {
  const { from, to, low, high } = rectangle
  if (inTime) {
    const at = draw(from + 1, to - 1)
    return [
      { ...rectangle, to: at },
      { ...rectangle, from: at }
    ]
  }
  const at = draw(low + 1, high - 1)
  return [
    { ...rectangle, high: at },
    { ...rectangle, low: at }
  ]
}

/** Five parts, four around one, that no cut through all of them makes. */
const cutPinwheel = ({ from, to, low, high }: Rectangle, draw: Draw): readonly Rectangle[] => {
  const left = draw(from + 1, to - 2)
  const right = draw(left + 1, to - 1)
  const bottom = draw(low + 1, high - 2)
  const top = draw(bottom + 1, high - 1)
  return [
    { from, to: right, low, high: bottom },
    { from: right, to, low, high: top },
    { from: left, to, low: top, high },
    { from, to: left, low: bottom, high },
    { from: left, to: right, low: bottom, high: top }
  ]
}

/**
 * Buffers that fill a rectangle of time by capacity: it is cut into two or like a pinwheel into
 * five, again and again, the larger parts sooner; then some buffers are made smaller or left out
 * until there is slack. The same options give the same instance.
 */
export const cutInstance = ({ seed, buffers, timepoints, slack }: CutOptions): CutInstance => {
  const { uniform } = randomStream(seed, 'cuts')
  let drawn = 0
  const draw: Draw = (from, to) => from + Math.floor(uniform(drawn++) * (to - from + 1))
  const chance = (share: number): boolean => uniform(drawn++) < share
  const units = capacity / unit
  /** Shares of time and of memory, so that both are cut as often. */
  const area = ({ from, to, low, high }: Rectangle): number => ((to - from) / timepoints) * ((high - low) / units)
  const parts: Rectangle[] = [{ from: 0, to: timepoints, low: 0, high: units }]
  while (parts.length < buffers) {
    const [first, second] = [draw(0, parts.length - 1), draw(0, parts.length - 1)]
    const chosen = area(parts[first]!) >= area(parts[second]!) ? first : second
    const part = parts[chosen]!
    const [time, memory] = [part.to - part.from, part.high - part.low]
    if (time === 1 && memory === 1) continue
    const inTime = memory === 1 || (time > 1 && chance(time / timepoints / (time / timepoints + memory / units)))
    const isPinwheel = time > 2 && memory > 2 && chance(1 / 4)
    parts.splice(chosen, 1, ...(isPinwheel ? cutPinwheel(part, draw) : cutThrough(part, draw, inTime)))
  }
  let spare = slack
  while (spare > 0) {
    const chosen = draw(0, parts.length - 1)
    const part = parts[chosen]!
    const smaller = { ...part, high: part.high - draw(1, Math.ceil((part.high - part.low) / 4)) }
    const isGone = smaller.high <= smaller.low
    spare -= isGone ? area(part) : area(part) - area(smaller)
    parts.splice(chosen, 1, ...(isGone ? [] : [smaller]))
  }
  // What is cut last would else come last.
  for (let last = parts.length - 1; last > 0; last--) {
    const other = draw(0, last)
    ;[parts[last], parts[other]] = [parts[other]!, parts[last]!]
  }
  return {
    name: `${buffers} buffers, ${timepoints} timepoints, ${100 * slack}% slack, seed ${seed}`,
    lifetimes: parts.map(({ from, to, low, high }) => ({ from, to, bytes: (high - low) * unit })),
    offsets: parts.map(({ low }) => low * unit),
    capacity
  }
}
