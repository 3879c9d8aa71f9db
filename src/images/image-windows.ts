import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { type ImageWindow, type ReadPixels, freePixels } from '../../native'
import { type Failure, type Outcome, inputFailure } from '../failure'
import { type ImageHeader, decodeRemedy, fileReason, isGone, readFailure } from './image-header'
import { namingTile, wholeTiles } from './bad-tile'
import { keepingTiles } from './decoded-tiles'
import { levelOptions } from './sharp-options'
import { loadSharp } from './load-sharp'
import type { ReadWindow } from './read-window'
import { decoderPixels } from './raw-pixels'
import { type ImageAxis, resampleWindow, storedSpan } from './resample'
import { isStored } from './resolution'
import { type Samples, asBytes, asElements, newElements, pixelBytes } from './samples'
import { InfiniteValue, readBands } from './band-windows'
import { windowBytes } from './tile-windows'

/** What of the image is decoded at a time, as it is read: single pixels where it is resampled. */
export const decodedTile = ({ view }: ImageHeader): ReadPixels['tile'] =>
  (isStored(view) ? view.level.tile : undefined) ?? { height: 1, width: 1 }

/** An image in tiles as a step takes it, which asks for its windows. */
export const readPixels = (header: ImageHeader, readWindow: ReadWindow): ReadPixels => ({
  windowBytes,
  tile: decodedTile(header),
  readWindow
})

const spanText = (from: number, count: number): string => `${from} to ${from + count - 1}`

/** Where in the file its tiles are, so that they can be looked at or left out. */
const windowFailure =
  (path: string, levels: ImageHeader['levels'], level: ImageHeader['levels'][number], window: ImageWindow) =>
  (thrown: unknown): Failure => {
    if (isGone(thrown)) return readFailure(path)(thrown)
    const ofLevel = levels.length > 1 ? ` of level ${levels.indexOf(level)}` : ''
    if (thrown instanceof InfiniteValue)
      return inputFailure(
        `the image ${path} is not finite: ${thrown.message}${ofLevel}; store NaN in its place, which is read as 0, or leave the image out`
      )
    const { top, left, height, width } = wholeTiles(window, level.tile!, level)
    const where = `rows ${spanText(top, height)}, columns ${spanText(left, width)}`
    return inputFailure(
      `the image ${path} cannot be read at ${where}${ofLevel}: ${fileReason(path, thrown)}; ${decodeRemedy(thrown, ' there')} or leave it out`
    )
  }

/** So many rows at a time as the stored pixels of are within the bytes of a window. */
const readResampled = (
  read: ReadWindow,
  samples: Samples,
  rows: ImageAxis,
  columns: ImageAxis,
  window: ImageWindow
): Outcome<Uint8Array> => {
  const { top, left, height, width } = window
  const span = { from: left, count: width }
  const storedColumns = storedSpan(columns, span)
  const { elementType, channels } = samples
  const rowBytes = pixelBytes(samples) * storedColumns.count * Math.max(1, rows.stored / rows.read)
  const rowsAtOnce = Math.max(1, Math.floor(windowBytes / rowBytes))
  const resampled = newElements(elementType, height * width * channels)
  const readBand = (from: number): Outcome<void> => {
    const band = { rows: { from: top + from, count: Math.min(rowsAtOnce, height - from) }, columns: span }
    const stored = storedSpan(rows, band.rows)
    return pipe(
      read({ top: stored.from, left: storedColumns.from, height: stored.count, width: storedColumns.count }),
      TE.map((pixels) => {
        resampled.set(resampleWindow(asElements(elementType, pixels), samples, rows, columns, band), from * width * channels)
        freePixels(pixels)
      })
    )
  }
  return pipe(
    Array.from({ length: Math.ceil(height / rowsAtOnce) }, (_, band) => band * rowsAtOnce),
    TE.traverseSeqArray(readBand),
    TE.map(() => asBytes(resampled))
  )
}

/** How windows of the image are read; absent where it has no tiles, and so is decoded whole. */
export const windowReader = (path: string, { view, levels, samples, slide }: ImageHeader): ReadWindow | undefined => {
  const { level } = view
  if (level.tile === undefined) return undefined
  const readStored = (window: ImageWindow): Outcome<Uint8Array> =>
    TE.tryCatch(() => readBands(path, level, window, samples), windowFailure(path, levels, level, window))
  const readColours = (window: ImageWindow): Outcome<Uint8Array> =>
    pipe(
      TE.tryCatch(
        async () => decoderPixels(loadSharp()(path, levelOptions(level)).extract(window).removeAlpha().toColourspace('srgb')),
        windowFailure(path, levels, level, window)
      ),
      TE.filterOrElse(
        ({ info }) => info.channels === 3,
        ({ info }) => inputFailure(`the image ${path} has ${info.channels} channels after conversion where 3 are wanted; store it as RGB`)
      ),
      TE.map(({ data }) => data)
    )
  const readSlide =
    slide &&
    ((window: ImageWindow): Outcome<Uint8Array> =>
      TE.mapLeft(({ message }: { readonly message: string }) => windowFailure(path, levels, level, window)(new Error(message)))(
        slide.read(level.page, window)
      ))
  const decode = namingTile(readSlide ?? (samples.bands === undefined ? readColours : readStored), level.tile)
  const read = keepingTiles(decode, level.tile, level, pixelBytes(samples))
  if (isStored(view)) return read
  const [rows, columns] = [
    { stored: level.height, read: view.height },
    { stored: level.width, read: view.width }
  ]
  return (window) => readResampled(read, samples, rows, columns, window)
}
