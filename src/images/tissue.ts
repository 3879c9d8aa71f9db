import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { freePixels } from '../../native'
import { type Outcome, inputFailure } from '../failure'
import { type Cells, type Grid, cellsOf, gridOf } from './cells'
import { decodeImage } from './decode-image'
import { type ImageSource, openImage } from './image-source'
import { type ReadWindow, windowBytes } from './image-windows'

/** How much of a colour is no grey, from 0 to 255: saturation of HSV. */
export const saturation = (red: number, green: number, blue: number): number => {
  const most = Math.max(red, green, blue)
  return most === 0 ? 0 : Math.round((255 * (most - Math.min(red, green, blue))) / most)
}

/**
 * The threshold between two classes of values from 0 to 255 that maximises the variance between
 * them, the least of several (Otsu 1979); the upper class lies above it. Undefined where all
 * values are the same.
 */
export const otsuThreshold = (values: Uint8Array): number | undefined => {
  const counts = new Float64Array(256)
  for (const value of values) counts[value]! += 1
  const total = values.reduce((sum, value) => sum + value, 0)
  let [below, sumBelow, best, threshold] = [0, 0, 0, undefined as number | undefined]
  for (let value = 0; value < 255; value += 1) {
    below += counts[value]!
    sumBelow += value * counts[value]!
    const above = values.length - below
    if (below === 0 || above === 0) continue
    const difference = sumBelow / below - (total - sumBelow) / above
    const between = below * above * difference * difference
    if (between > best) [best, threshold] = [between, value]
  }
  return threshold
}

/** Sums of the colours of the pixels of each cell, three a cell. */
class ColourSums {
  private readonly sums: Float64Array
  constructor(private readonly grid: Grid) {
    this.sums = new Float64Array(3 * grid.rows * grid.columns)
  }

  /** Adds rows of the whole width. */
  add(pixels: Uint8Array, top: number): void {
    const { block, columns, extent } = this.grid
    for (let at = 0, row = top; at < pixels.length; row += 1)
      for (let column = 0; column < extent.width; column += 1) {
        const cell = 3 * (Math.floor(row / block) * columns + Math.floor(column / block))
        for (let channel = 0; channel < 3; channel += 1, at += 1) this.sums[cell + channel]! += pixels[at]!
      }
  }

  /** The saturation of the mean colour of each cell, its channels rounded. */
  saturations(): Uint8Array {
    const { block, rows, columns, extent } = this.grid
    return Uint8Array.from({ length: rows * columns }, (_, cell) => {
      const [row, column] = [Math.floor(cell / columns), cell % columns]
      const pixels = Math.min(block, extent.height - row * block) * Math.min(block, extent.width - column * block)
      const mean = (channel: number): number => Math.round(this.sums[3 * cell + channel]! / pixels)
      return saturation(mean(0), mean(1), mean(2))
    })
  }
}

const sumWindows = ({ height, width }: Grid['extent'], read: ReadWindow, sums: ColourSums): Outcome<void> => {
  const rows = Math.max(1, Math.floor(windowBytes / (3 * width)))
  return pipe(
    Array.from({ length: Math.ceil(height / rows) }, (_, band) => band * rows),
    TE.traverseSeqArray((top) =>
      TE.map((pixels: Uint8Array) => {
        sums.add(pixels, top)
        freePixels(pixels)
      })(read({ top, left: 0, height: Math.min(rows, height - top), width }))
    ),
    TE.map(() => undefined)
  )
}

const sumWhole = (path: string, level: number, sums: ColourSums): Outcome<void> =>
  pipe(
    decodeImage(path, { height: 1, width: 1 }, undefined, { level }),
    TE.chainEitherK(({ pixels }) =>
      pixels instanceof Uint8Array
        ? E.right(sums.add(pixels, 0))
        : E.left(inputFailure(`the image ${path} is too large to look for tissue in: store it as a TIFF in tiles, or leave --tissue out`))
    )
  )

const saturationsOf = (
  { path, header, read }: ImageSource,
  level: number
): Outcome<{ readonly grid: Grid; readonly values: Uint8Array }> => {
  const grid = gridOf(header)
  const sums = new ColourSums(grid)
  return TE.map(() => ({ grid, values: sums.saturations() }))(
    read === undefined ? sumWhole(path, level, sums) : sumWindows(grid.extent, read, sums)
  )
}

/**
 * Cells of an image that hold something: of its coarsest level, whose pixels are averaged by
 * cells, those whose saturation is above Otsu's threshold of all.
 */
export const findTissue = (path: string): Outcome<Cells> =>
  pipe(
    openImage(path),
    TE.map(({ header }) => header.levels.length - 1),
    TE.chain((level) =>
      pipe(
        openImage(path, { level }),
        TE.chain((source) => saturationsOf(source, level))
      )
    ),
    TE.chainEitherK(({ grid, values }) => {
      const threshold = otsuThreshold(values)
      return threshold === undefined
        ? E.left(
            inputFailure(`the image ${path} is equally saturated everywhere, so there is no tissue to be told from glass: leave it out`)
          )
        : E.right(
            cellsOf(
              grid,
              values.map((value) => (value > threshold ? 1 : 0))
            )
          )
    })
  )
