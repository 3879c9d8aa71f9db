import type { Range } from '../program/program-buffer'
import { accessBoxes } from './access-boxes'
import { subtract, type Box, type Coordinates } from './boxes'
import type { Store } from './events'

/** Rows, or images, of a range. */
export const sizeOf = ([from, to]: Range): number => to - from

/** The bytes of a store that are this rank's own, and those that it holds of others. */
export const ownBoxes = (
  { bytes }: Store,
  share: Store['share'],
  system: Coordinates
): { readonly own: readonly Box[]; readonly ownBytes: number; readonly others: readonly Box[] } => {
  const all = accessBoxes(system, { base: 0, repeats: [], run: bytes }).boxes
  if (share === undefined || share.kind === 'alike') return { own: all, ownBytes: bytes, others: [] }
  const { own } = share
  if (share.kind === 'sum') {
    const imageBytes = bytes / share.of.images
    const run = sizeOf(own.images) * imageBytes
    return { own: accessBoxes(system, { base: own.images[0] * imageBytes, repeats: [], run }).boxes, ownBytes: run, others: [] }
  }
  const { held, rowBytes } = share
  const [imageBytes, planeBytes] = [bytes / sizeOf(held.images), sizeOf(held.rows) * rowBytes]
  const [planes, run] = [imageBytes / planeBytes, sizeOf(own.rows) * rowBytes]
  const boxes = accessBoxes(system, {
    base: (own.images[0] - held.images[0]) * imageBytes + (own.rows[0] - held.rows[0]) * rowBytes,
    repeats: [
      { count: sizeOf(own.images), stride: imageBytes },
      { count: planes, stride: planeBytes }
    ],
    run
  }).boxes
  return { own: boxes, ownBytes: sizeOf(own.images) * planes * run, others: subtract(all, boxes) }
}
