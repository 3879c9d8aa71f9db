import { type Elements, type Samples, newElements } from './samples'

/** Part of an axis: `count` elements from `from` on. */
export interface PixelSpan {
  readonly from: number
  readonly count: number
}

/**
 * What each element of an axis is summed from: weights of consecutive elements of the stored axis.
 */
interface Taps {
  readonly from: number
  readonly weights: Float64Array
}

/**
 * A triangle as wide as a pixel of the coarser of both grids on either side, centred on the
 * element, its weights of sum 1 (antialiased bilinear, as of Pillow and torchvision).
 */
const makeTaps = (stored: number, scale: number, index: number): Taps => {
  const support = Math.max(1, scale)
  const centre = (index + 0.5) * scale
  const from = Math.max(0, Math.floor(centre - support + 0.5))
  const to = Math.min(stored, Math.max(from + 1, Math.floor(centre + support + 0.5)))
  const weights = Float64Array.from({ length: to - from }, (_, tap) => Math.max(0, 1 - Math.abs(from + tap + 0.5 - centre) / support))
  const sum = weights.reduce((total, weight) => total + weight, 0)
  return { from, weights: sum > 0 ? weights.map((weight) => weight / sum) : weights.fill(1 / weights.length) }
}

/** One axis of an image that is resampled: its elements as stored, and as read. */
export interface ImageAxis {
  readonly stored: number
  readonly read: number
}

/** The stored elements from which a span of the axis as read is computed. */
export const storedSpan = ({ stored, read }: ImageAxis, { from, count }: PixelSpan): PixelSpan => {
  const first = makeTaps(stored, stored / read, from)
  const last = makeTaps(stored, stored / read, from + count - 1)
  return { from: first.from, count: last.from + last.weights.length - first.from }
}

/**
 * A window of a resampled image, [rows, columns, channels], from the stored pixels of `storedSpan`
 * of either axis. Each pixel depends on its own place alone, so windows fit together.
 */
export const resampleWindow = (
  pixels: Elements,
  { elementType, channels }: Samples,
  rows: ImageAxis,
  columns: ImageAxis,
  window: { readonly rows: PixelSpan; readonly columns: PixelSpan }
): Elements => {
  const [storedRows, storedColumns] = [storedSpan(rows, window.rows), storedSpan(columns, window.columns)]
  const tapsOfSpan = ({ stored, read }: ImageAxis, { from, count }: PixelSpan): readonly Taps[] =>
    Array.from({ length: count }, (_, index) => makeTaps(stored, stored / read, from + index))
  const [rowTaps, columnTaps] = [tapsOfSpan(rows, window.rows), tapsOfSpan(columns, window.columns)]
  const width = window.columns.count * channels
  const across = new Float32Array(storedRows.count * width)
  for (let row = 0; row < storedRows.count; row += 1)
    for (const [column, { from, weights }] of columnTaps.entries()) {
      const first = (row * storedColumns.count + from - storedColumns.from) * channels
      for (let channel = 0; channel < channels; channel += 1) {
        let sum = 0
        for (let tap = 0; tap < weights.length; tap += 1) sum += weights[tap]! * pixels[first + tap * channels + channel]!
        across[row * width + column * channels + channel] = sum
      }
    }
  const resampled = newElements(elementType, window.rows.count * width)
  const isFloat = elementType === 'float32'
  for (const [row, { from, weights }] of rowTaps.entries())
    for (let at = 0; at < width; at += 1) {
      let sum = 0
      for (let tap = 0; tap < weights.length; tap += 1) sum += weights[tap]! * across[(from + tap - storedRows.from) * width + at]!
      resampled[row * width + at] = isFloat ? sum : Math.floor(sum + 0.5)
    }
  return resampled
}
