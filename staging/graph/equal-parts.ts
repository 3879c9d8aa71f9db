import { memoizePerObject } from '../memoize'
import type { SharedTensor } from './shared-tensor'

/** As many images and rows for each rank; ranks of one image follow each other. */
export interface EqualParts {
  /** Of each part. */
  readonly images: number
  readonly rows: number
  /** How many parts there are. */
  readonly imageParts: number
  readonly rowParts: number
}

const findEqualParts = ({ ranks, partOf }: SharedTensor): EqualParts | undefined => {
  const { images, rows } = partOf(0).owned
  const [imageCount, rowCount] = [images.to - images.from, rows.to - rows.from]
  const last = partOf(ranks - 1).owned
  const [imageParts, rowParts] = [last.images.to / imageCount, last.rows.to / rowCount]
  if (imageParts * rowParts !== ranks) return undefined
  for (let rank = 0; rank < ranks; rank += 1) {
    const { owned } = partOf(rank)
    const [image, row] = [Math.floor(rank / rowParts) * imageCount, (rank % rowParts) * rowCount]
    const isInPlace = owned.images.from === image && owned.rows.from === row
    if (!isInPlace || owned.images.to !== image + imageCount || owned.rows.to !== row + rowCount) return undefined
  }
  return { images: imageCount, rows: rowCount, imageParts, rowParts }
}

/**
 * The parts that ranks own of a tensor, where all own as many of its images and rows; undefined
 * where they do not. Remembered.
 */
export const equalParts = memoizePerObject((_: SharedTensor) => '', findEqualParts)
