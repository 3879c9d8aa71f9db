/**
 * Sets of bytes of one buffer as boxes in mixed-radix coordinates: byte = sum over k of digit k x
 * stride k, where each stride divides the next (element run, row, channel block, batch). A box is a
 * product of half-open ranges of digits.
 */
export interface Coordinates {
  /** Ascending, from 1. */
  readonly strides: readonly number[]
  /** Digit k is in 0 .. radices[k] - 1. */
  readonly radices: readonly number[]
}

/** A product of half-open ranges of digits, `low` to `high`. */
export interface Box {
  readonly low: readonly number[]
  readonly high: readonly number[]
}

/**
 * Strides are taken in the order given, as far as they divide each other and `bytes` holds them.
 */
export const chooseCoordinates = (bytes: number, wanted: Iterable<number>): Coordinates => {
  const strides = [1]
  for (const stride of wanted) {
    if (!(stride > 1 && stride < bytes)) continue
    const place = strides.findIndex((known) => known >= stride)
    const [below, above] = place === -1 ? [strides[strides.length - 1]!, undefined] : [strides[place - 1]!, strides[place]!]
    if (stride % below === 0 && (above === undefined || (above !== stride && above % stride === 0)))
      strides.splice(place === -1 ? strides.length : place, 0, stride)
  }
  return { strides, radices: strides.map((stride, k) => Math.ceil((strides[k + 1] ?? bytes) / stride)) }
}

/** The contiguous bytes from .. to as few boxes. */
export const runBoxes = ({ strides, radices }: Coordinates, from: number, to: number): readonly Box[] => {
  const boxes: Box[] = []
  const low = strides.map(() => 0)
  const high = [...radices]
  const emit = (level: number, first: number, last: number): void => {
    low[level] = first
    high[level] = last
    for (let below = 0; below < level; below++) {
      low[below] = 0
      high[below] = radices[below]!
    }
    boxes.push({ low: [...low], high: [...high] })
  }
  const split = (level: number, start: number, end: number): void => {
    if (level === 0) return emit(0, start, end)
    const stride = strides[level]!
    let first = Math.floor(start / stride)
    const last = Math.floor(end / stride)
    const [head, tail] = [start - first * stride, end - last * stride]
    const within = (digit: number, a: number, b: number): void => {
      low[level] = digit
      high[level] = digit + 1
      split(level - 1, a, b)
    }
    if (first === last) return within(first, head, tail)
    if (head > 0) within(first++, head, stride)
    if (first < last) emit(level, first, last)
    if (tail > 0) within(last, 0, tail)
  }
  if (to > from) split(strides.length - 1, from, to)
  return boxes
}

/** The lowest byte of a box, and the one behind its highest. */
export const bytesOfBox = ({ strides }: Coordinates, { low, high }: Box): readonly [number, number] => [
  strides.reduce((sum, stride, k) => sum + stride * low[k]!, 0),
  strides.reduce((sum, stride, k) => sum + stride * (high[k]! - 1), 1)
]

const covers = (outer: Box, inner: Box): boolean => outer.low.every((low, k) => low <= inner.low[k]! && outer.high[k]! >= inner.high[k]!)

/** Tells whether two boxes of the same coordinates share a byte. */
export const overlap = (a: Box, b: Box): boolean => a.low.every((low, k) => low < b.high[k]! && b.low[k]! < a.high[k]!)

/** `box` without `hole`, as disjoint boxes. */
const without = (box: Box, hole: Box): readonly Box[] => {
  if (!overlap(box, hole)) return [box]
  const pieces: Box[] = []
  const [low, high] = [[...box.low], [...box.high]]
  for (let k = low.length - 1; k >= 0; k--) {
    if (low[k]! < hole.low[k]!) pieces.push({ low: [...low], high: high.map((end, j) => (j === k ? hole.low[k]! : end)) })
    if (high[k]! > hole.high[k]!) pieces.push({ low: low.map((start, j) => (j === k ? hole.high[k]! : start)), high: [...high] })
    low[k] = Math.max(low[k]!, hole.low[k]!)
    high[k] = Math.min(high[k]!, hole.high[k]!)
  }
  return pieces
}

/** Boxes without some others, as disjoint boxes where they were disjoint. */
export const subtract = (boxes: readonly Box[], holes: readonly Box[]): readonly Box[] => {
  let left = boxes
  for (const hole of holes) {
    if (left.length === 0) break
    if (left.some((box) => overlap(box, hole))) left = left.flatMap((box) => without(box, hole))
  }
  return left
}

/** The one digit in which two boxes differ where their union is a box. */
const joint = (a: Box, b: Box): number | undefined => {
  let found: number | undefined
  for (let k = 0; k < a.low.length; k++) {
    if (a.low[k] === b.low[k] && a.high[k] === b.high[k]) continue
    if (found !== undefined || a.high[k]! < b.low[k]! || b.high[k]! < a.low[k]!) return undefined
    found = k
  }
  return found
}

/** Adds a box to a union, which stays small where boxes can be joined. */
export const addBox = (union: Box[], added: Box): void => {
  let box = added
  for (let other = union.length - 1; other >= 0; other--) {
    const known = union[other]!
    if (covers(known, box)) return
    if (covers(box, known)) {
      union.splice(other, 1)
      continue
    }
    const k = joint(known, box)
    if (k === undefined) continue
    union.splice(other, 1)
    box = {
      low: box.low.map((low, j) => (j === k ? Math.min(low, known.low[k]!) : low)),
      high: box.high.map((high, j) => (j === k ? Math.max(high, known.high[k]!) : high))
    }
    other = union.length
  }
  union.push(box)
}

/** Boxes that hold a set of bytes; `exact` where they hold nothing else. */
export interface Cover {
  readonly boxes: readonly Box[]
  readonly exact: boolean
}

/** Limit of runs that are listed where stepping from copy to copy carries from digit to digit. */
const mostCopies = 512

/** Limit of boxes that are listed one by one where repetitions make no single one. */
const listed = 4096

/** A box as runs of contiguous bytes, all of one length; undefined where there are more. */
const runsOfBox = (
  { strides, radices }: Coordinates,
  { low, high }: Box,
  most: number
): { readonly starts: readonly number[]; readonly length: number } | undefined => {
  // Digits that are full lie one after the other, and so does a range of the one above them.
  const partial = strides.findIndex((_, k) => low[k] !== 0 || high[k] !== radices[k])
  const top = partial === -1 ? strides.length - 1 : partial
  const above = strides
    .slice(top + 1)
    .map((stride, k) => ({ stride, from: low[top + 1 + k]!, count: high[top + 1 + k]! - low[top + 1 + k]! }))
  if (above.reduce((product, { count }) => product * count, 1) > most) return undefined
  const starts = above.reduce<readonly number[]>(
    (known, { stride, from, count }) =>
      known.flatMap((start) => Array.from({ length: count }, (_, index) => start + (from + index) * stride)),
    [low[top]! * strides[top]!]
  )
  return { starts, length: (high[top]! - low[top]!) * strides[top]! }
}

/**
 * The copies of a box one by one, where stepping from one to the next carries from digit to digit;
 * undefined where they are of more than `most` runs, or begin before all bytes.
 */
const listCopies = (coordinates: Coordinates, box: Box, stride: number, count: number, most: number): readonly Box[] | undefined => {
  const runs = runsOfBox(coordinates, box, most / count)
  if (runs === undefined || runs.starts[0]! + Math.min(0, stride * (count - 1)) < 0) return undefined
  const copies: Box[] = []
  for (let index = 0; index < count; index++)
    for (const start of runs.starts)
      for (const copy of runBoxes(coordinates, start + index * stride, start + index * stride + runs.length)) addBox(copies, copy)
  return copies
}

/** Repeats one box `count` times. */
const repeatBox = (coordinates: Coordinates, box: Box, stride: number, count: number, limit: number): Cover => {
  const { strides, radices } = coordinates
  const shift = strides.map(() => 0)
  let left = Math.abs(stride)
  for (let k = strides.length - 1; k >= 0; k--) {
    shift[k] = Math.sign(stride) * Math.floor(left / strides[k]!)
    left %= strides[k]!
  }
  const low = box.low.map((start, k) => start + Math.min(0, shift[k]! * (count - 1)))
  const high = box.high.map((end, k) => end + Math.max(0, shift[k]! * (count - 1)))
  const carries = low.some((start) => start < 0) || high.some((end, k) => end > radices[k]!)
  if (!carries) {
    const moving = shift.flatMap((digits, k) => (digits === 0 ? [] : [k]))
    const k = moving[0]!
    if (moving.length === 1 && Math.abs(shift[k]!) <= box.high[k]! - box.low[k]!) return { boxes: [{ low, high }], exact: true }
    if (count <= limit)
      return {
        boxes: Array.from({ length: count }, (_, index) => ({
          low: box.low.map((start, j) => start + index * shift[j]!),
          high: box.high.map((end, j) => end + index * shift[j]!)
        })),
        exact: true
      }
    return { boxes: [{ low, high }], exact: false }
  }
  const copies = listCopies(coordinates, box, stride, count, Math.min(limit, mostCopies))
  if (copies !== undefined) return { boxes: copies, exact: true }
  const [from, to] = bytesOfBox(coordinates, box)
  const reach = stride * (count - 1)
  const last = strides.reduce((sum, unit, k) => sum + unit * (radices[k]! - 1), 1)
  return { boxes: runBoxes(coordinates, Math.max(0, from + Math.min(0, reach)), Math.min(last, to + Math.max(0, reach))), exact: false }
}

/** The union of `count` copies of some boxes, each `stride` bytes behind the one before. */
export const repeatBoxes = (coordinates: Coordinates, boxes: readonly Box[], stride: number, count: number): Cover => {
  if (stride === 0 || count === 1) return { boxes, exact: true }
  const covers = boxes.map((box) => repeatBox(coordinates, box, stride, count, listed / boxes.length))
  return { boxes: covers.flatMap((cover) => cover.boxes), exact: covers.every(({ exact }) => exact) }
}
