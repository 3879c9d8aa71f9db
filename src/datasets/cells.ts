import type { Extent2 } from '../images/resolution'

/** Most cells along the longer side of an image. */
const maxCells = 512

/** Square cells over an image: blocks of so many pixels of an extent. */
export interface CellGrid {
  readonly extent: Extent2
  /** Pixels of the extent along a cell. */
  readonly block: number
  readonly rows: number
  readonly columns: number
}

/** The finest grid of an extent that has no more cells than `maxCells` along either side. */
export const finestGrid = ({ height, width }: Extent2): CellGrid => {
  const block = Math.ceil(Math.max(height, width) / maxCells)
  return { extent: { height, width }, block, rows: Math.ceil(height / block), columns: Math.ceil(width / block) }
}

/** Cells of a grid, from which crops are drawn: row by row, by their numbers. */
export interface Cells {
  readonly grid: CellGrid
  readonly numbers: Uint32Array
}

/** The cells that are marked, row by row. */
export const markedCells = (grid: CellGrid, marks: Uint8Array): Cells => ({
  grid,
  numbers: Uint32Array.from(marks.keys()).filter((number) => marks[number] !== 0)
})

const clamp = (value: number, most: number): number => Math.min(most, Math.max(0, value))

/**
 * The corner of a crop whose middle lies in one of the cells, each as likely, by two numbers from
 * [0, 1); moved into the image at its border. The image may have another extent than the grid.
 */
export const cornerInCells = (
  { grid, numbers }: Cells,
  draw: { readonly top: number; readonly left: number },
  image: Extent2,
  crop: Extent2
): { readonly cropTop: number; readonly cropLeft: number } => {
  const { extent, block, columns } = grid
  const chosen = draw.top * numbers.length
  const number = numbers[Math.floor(chosen)]!
  const middle = (cell: number, share: number, stored: number, seen: number): number => {
    const [from, to] = [cell * block, Math.min(stored, (cell + 1) * block)]
    return Math.floor(((from + share * (to - from)) * seen) / stored)
  }
  // What is left of the number that chose the cell says where in it.
  const row = middle(Math.floor(number / columns), chosen - Math.floor(chosen), extent.height, image.height)
  const column = middle(number % columns, draw.left, extent.width, image.width)
  return {
    cropTop: clamp(row - Math.floor(crop.height / 2), image.height - crop.height),
    cropLeft: clamp(column - Math.floor(crop.width / 2), image.width - crop.width)
  }
}
