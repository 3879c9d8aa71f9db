import * as E from 'fp-ts/Either'
import { type Failure } from '../failure'
import type { Extent2 } from '../images/resolution'
import { partBytes } from '../../native'
import type { Outputs } from './outputs'
import { type PredictionResult, failNotFinite, pixelClasses } from './prediction'

/** Scores of classes before softmax, [classes, height, width], which may lie in a file. */
export interface PixelScores extends Extent2 {
  readonly classes: number
  /** The scores of one class, [rows, width] from row `top` on. */
  readonly rows: (classIndex: number, top: number, rows: number) => Float32Array | Float64Array
  /** Takes what was read of them out of memory. */
  readonly leave: () => void
  /** Rows to read of all classes at a time. */
  readonly mostRows: number
}

/** Bytes of scores that are in memory meanwhile. */
const bytesAtOnce = 2 ** 22

/** What `scoringModel` makes of an image. */
export const makePixelScores = ({ entries, io }: Outputs): PixelScores => {
  const { shape, type } = entries.find(({ name }) => name === 'scores')!
  const [, classes, height, width] = shape as readonly [number, number, number, number]
  const parts = io.parts('scores')
  const Numbers = type === 'float64' ? Float64Array : Float32Array
  const elementBytes = Numbers.BYTES_PER_ELEMENT
  const read = (from: number, count: number): Float32Array | Float64Array => {
    const [first, last] = [Math.floor((from * elementBytes) / partBytes), Math.floor(((from + count) * elementBytes - 1) / partBytes)]
    const within = (part: number, begin: number, end: number): Uint8Array =>
      parts[part]!.subarray(begin - part * partBytes, end - part * partBytes)
    const [begin, end] = [from * elementBytes, (from + count) * elementBytes]
    if (first === last) {
      const { buffer, byteOffset } = within(first, begin, end)
      return new Numbers(buffer as ArrayBuffer, byteOffset, count)
    }
    const joined = new Uint8Array(end - begin)
    for (let part = first; part <= last; part += 1) {
      const [start, stop] = [Math.max(begin, part * partBytes), Math.min(end, (part + 1) * partBytes)]
      joined.set(within(part, start, stop), start - begin)
    }
    return new Numbers(joined.buffer)
  }
  return {
    ...{ classes, height, width, leave: io.leaveToFile },
    mostRows: Math.max(1, Math.floor(bytesAtOnce / (classes * width * elementBytes))),
    rows: (classIndex, top, rows) => read((classIndex * height + top) * width, rows * width)
  }
}

/** How many pixels have their highest score for each class, once all are known to be finite. */
export const countPredictedClasses = ({
  classes,
  height,
  width,
  rows,
  leave,
  mostRows
}: PixelScores): E.Either<Failure, PredictionResult> => {
  const counted = new Array<number>(pixelClasses(classes)).fill(0)
  let wrong = 0
  for (let top = 0; top < height; top += mostRows) {
    leave()
    const count = Math.min(mostRows, height - top)
    const planes = Array.from({ length: classes }, (_, one) => rows(one, top, count))
    for (let at = 0; at < count * width; at += 1) {
      let best = 0
      let isFinite = true
      for (let one = 0; one < classes; one += 1) {
        isFinite &&= Number.isFinite(planes[one]![at])
        if (planes[one]![at]! > planes[best]![at]!) best = one
      }
      if (isFinite) counted[classes === 1 && planes[0]![at]! > 0 ? 1 : best]! += 1
      else wrong += 1
    }
  }
  return wrong > 0 ? failNotFinite(`${wrong} of ${height * width} pixels have scores that are`) : E.right({ pixels: counted })
}
