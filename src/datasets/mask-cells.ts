import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import type { ImageWindow } from '../../native'
import { type Outcome, inputFailure } from '../failure'
import { classNamesIn, isAnnotationName, readAnnotations, unclassified } from './annotations/annotations'
import { type Cells, type CellGrid, markedCells, finestGrid } from './cells'
import { readHeader } from '../images/image-header'
import { inspectAnnotations, openAnnotations } from './annotations/inspect-annotations'
import { type ClassMap, type Mask, decodeMask, inspectMask, openMask } from './masks/masks'
import type { TiledMask } from './masks/mask-windows'
import { type PolygonMap, forEachRunOfMap } from './annotations/paint-polygons'
import { forEachTileWindow } from '../images/tile-windows'

/** Takes a run of pixels of one value: [from, to) of a row. */
type MarkRun = (row: number, from: number, to: number, value: number) => void

const markPixels = (pixels: Uint8Array, { top, left, width }: ImageWindow, mark: MarkRun): void => {
  for (let at = 0; at < pixels.length;) {
    const [row, from] = [Math.floor(at / width), at % width]
    let to = from + 1
    while (to < width && pixels[row * width + to] === pixels[at]) to += 1
    mark(top + row, left + from, left + to, pixels[at]!)
    at = row * width + to
  }
}

const markTiles = (mask: TiledMask, mark: MarkRun): Outcome<void> =>
  forEachTileWindow({ ...mask, pixelBytes: 1 }, (pixels, window) => markPixels(pixels, window, mark))

const markMask = (mask: Mask, mark: MarkRun): Outcome<void> => {
  if (mask.annotation !== undefined)
    return TE.map((map: PolygonMap) => forEachRunOfMap(map, mark))(openAnnotations(mask.path, mask, mask.annotation))
  return pipe(
    openMask(mask.path),
    TE.chain((tiled) =>
      tiled === undefined
        ? TE.map(({ pixels, ...extent }: ClassMap) => markPixels(pixels, { top: 0, left: 0, ...extent }, mark))(decodeMask(mask.path))
        : markTiles(tiled, mark)
    )
  )
}

/** Marks the cells of a grid that hold a value of a group: of each the marks, or none. */
const marker =
  ({ block, columns }: CellGrid, marksOf: readonly (Uint8Array | undefined)[]): MarkRun =>
  (row, from, to, value) => {
    const first = Math.floor(row / block) * columns
    marksOf[value]?.fill(1, first + Math.floor(from / block), first + Math.floor((to - 1) / block) + 1)
  }

const notZero = Array.from({ length: 255 }, (_, value) => value + 1)

/** A mask of any size over an image: of polygons, what is in any of them. */
const openMarks = (path: string, image: string): Outcome<Mask> => {
  if (!isAnnotationName(path)) return inspectMask(path)
  return pipe(
    TE.Do,
    TE.bind('polygons', () => readAnnotations(path)),
    TE.bind('header', () => readHeader(image)),
    TE.chain(({ polygons, header }) =>
      inspectAnnotations(path, header, {
        aliases: [...classNamesIn(polygons), unclassified].map((name) => ({ name, value: 1 })),
        outside: 0
      })
    )
  )
}

/** The cells in which a mask, such as of tissue, is other than 0; refused where there are none. */
export const findMarkedCells = (path: string, image: string): Outcome<Cells> =>
  pipe(
    openMarks(path, image),
    TE.chain((mask) => findMaskCells(mask, [notZero])),
    TE.chainEitherK(([cells]) =>
      cells!.numbers.length > 0
        ? E.right(cells!)
        : E.left(inputFailure(`the mask of tissue ${path} is 0 everywhere, so no crop can be drawn: mend it, or leave the row out`))
    )
  )

/** The cells in which a mask has pixels of each of some groups of values; a value is in one. */
export const findMaskCells = (mask: Mask, groups: readonly (readonly number[])[]): Outcome<readonly Cells[]> => {
  const grid = finestGrid(mask)
  const marks = groups.map(() => new Uint8Array(grid.rows * grid.columns))
  const marksOf = Array.from({ length: 256 }, (_, value) => marks[groups.findIndex((group) => group.includes(value))])
  return TE.map(() => marks.map((found) => markedCells(grid, found)))(markMask(mask, marker(grid, marksOf)))
}
