import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import type { ImageWindow } from '../../native'
import { type Failure, type Outcome, inputFailure } from '../failure'
import { type Cells, type CellGrid, markedCells, finestGrid } from './cells'
import { decodeImage } from '../images/decode-image'
import { type ImageSource, openImage } from '../images/image-source'
import { decodedTile } from '../images/image-windows'
import type { Extent2 } from '../images/resolution'
import { type Reading, type Samples, asElements, pixelBytes } from '../images/samples'
import { forEachTileWindow } from '../images/tile-windows'
import { type OnUnread, unlessUnread } from '../images/unread'

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

/** What is collected of an image's pixels, by windows, and the cells that it gives. */
interface Collector {
  readonly add: (bytes: Uint8Array, window: ImageWindow) => void
  readonly cells: () => E.Either<Failure, Cells>
}

/** Cells whose mean colour, its channels rounded, is more saturated than Otsu's threshold. */
const colourCollector = (path: string, grid: CellGrid): Collector => {
  const { block, rows, columns } = grid
  const sums = new Float64Array(3 * rows * columns)
  const counts = new Uint32Array(rows * columns)
  const saturationOf = (cell: number): number => {
    const mean = (channel: number): number => Math.round(sums[3 * cell + channel]! / counts[cell]!)
    return saturation(mean(0), mean(1), mean(2))
  }
  return {
    add: (pixels, { top, left, width }) => {
      for (let at = 0, row = top; at < pixels.length; row += 1)
        for (let column = left; column < left + width; column += 1) {
          const cell = Math.floor(row / block) * columns + Math.floor(column / block)
          counts[cell]! += 1
          for (let channel = 0; channel < 3; channel += 1, at += 1) sums[3 * cell + channel]! += pixels[at]!
        }
    },
    cells: () => {
      // Cells of which nothing could be read are neither tissue nor glass.
      const values = Array.from(counts, (count, cell) => (count === 0 ? undefined : saturationOf(cell)))
      const threshold = otsuThreshold(Uint8Array.from(values.filter((value) => value !== undefined)))
      return threshold === undefined
        ? E.left(
            inputFailure(`the image ${path} is equally saturated everywhere, so there is no tissue to be told from glass: leave it out`)
          )
        : E.right(
            markedCells(
              grid,
              Uint8Array.from(values, (value) => (value !== undefined && value > threshold ? 1 : 0))
            )
          )
    }
  }
}

/** Cells with a pixel that is other than 0 in a channel: what holds nothing is read as 0. */
const dataCollector = (path: string, grid: CellGrid, { channels, elementType }: Samples): Collector => {
  const { block, rows, columns } = grid
  const marks = new Uint8Array(rows * columns)
  return {
    add: (bytes, { top, left, width }) => {
      const elements = asElements(elementType, bytes)
      for (let at = 0; at < elements.length; at += 1) {
        if (elements[at] === 0) continue
        const pixel = Math.floor(at / channels)
        marks[Math.floor((top + Math.floor(pixel / width)) / block) * columns + Math.floor((left + (pixel % width)) / block)] = 1
      }
    },
    cells: () =>
      marks.includes(1)
        ? E.right(markedCells(grid, marks))
        : E.left(inputFailure(`the image ${path} holds no data anywhere, so no crop can be drawn: leave it out`))
  }
}

const collectWhole = (path: string, extent: Extent2, reading: Reading, collector: Collector): Outcome<void> =>
  pipe(
    decodeImage(path, { height: 1, width: 1 }, undefined, reading),
    TE.chainEitherK(({ pixels }) =>
      pixels instanceof Uint8Array
        ? E.right(collector.add(pixels, { top: 0, left: 0, ...extent }))
        : E.left(inputFailure(`the image ${path} is too large to look for tissue in: store it as a TIFF in tiles, or leave --tissue out`))
    )
  )

const findIn = ({ path, header, read }: ImageSource, reading: Reading, onUnread: OnUnread | undefined): Outcome<Cells | undefined> => {
  const grid = finestGrid(header)
  const { samples } = header
  const isColour = samples.channels === 3 && samples.elementType === 'uint8' && samples.bands === undefined
  const collector = isColour ? colourCollector(path, grid) : dataCollector(path, grid, samples)
  let isRead = false
  const add: Collector['add'] = (bytes, window) => {
    isRead = true
    collector.add(bytes, window)
  }
  const passOver = onUnread && unlessUnread(path, onUnread)
  return pipe(
    read === undefined
      ? unlessUnread(path, onUnread)(collectWhole(path, grid.extent, reading, { ...collector, add }))
      : forEachTileWindow({ ...grid.extent, tile: decodedTile(header), pixelBytes: pixelBytes(samples), read }, add, passOver),
    TE.chainEitherK(() => (isRead ? collector.cells() : E.right(undefined)))
  )
}

/**
 * Cells of an image that hold something, by its coarsest level: of 8-bit RGB, whose pixels are
 * averaged by cells, those whose saturation is above Otsu's threshold of all; of others, those with
 * data. Where `onUnread` is given, cells of tiles that cannot be read are none of them, and the
 * answer is undefined where nothing can be read.
 */
export const findTissue = (
  path: string,
  { bands, channels }: Pick<Reading, 'bands' | 'channels'> = {},
  onUnread?: OnUnread
): Outcome<Cells | undefined> => {
  const readingAt = (level: number): Reading => ({ level, ...(bands && { bands }), ...(channels === undefined ? {} : { channels }) })
  return pipe(
    openImage(path, readingAt(0)),
    TE.map(({ header }) => readingAt(header.levels.length - 1)),
    TE.chain((coarsest) =>
      pipe(
        openImage(path, coarsest),
        TE.chain((source) => findIn(source, coarsest, onUnread))
      )
    )
  )
}
