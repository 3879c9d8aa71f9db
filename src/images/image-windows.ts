import type { OutputInfo } from 'sharp'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import type { ImageWindow } from '../../native'
import { type Failure, type Outcome, inputFailure, reasonOf } from '../failure'
import { type ImageHeader, levelOptions } from './image-header'
import { loadSharp } from './load-sharp'
import { resampleWindow, storedSpan } from './resample'
import { isStored } from './resolution'

/** Reads pixels [height, width, 3] of a window of an image. */
export type ReadWindow = (window: ImageWindow) => Outcome<Uint8Array>

const spanText = (from: number, count: number): string => `${from} to ${from + count - 1}`

/** Where in the file it is, so that it can be looked at or left out. */
const windowFailure =
  (path: string, levels: ImageHeader['levels'], level: ImageHeader['levels'][number], { top, left, height, width }: ImageWindow) =>
  (thrown: unknown): Failure => {
    const where = `rows ${spanText(top, height)}, columns ${spanText(left, width)}`
    const ofLevel = levels.length > 1 ? ` of level ${levels.indexOf(level)}` : ''
    const [reason] = reasonOf(thrown).split('\n')
    return inputFailure(
      `the image ${path} cannot be read at ${where}${ofLevel}: ${reason}; it is cut or damaged there, so store it anew or leave it out`
    )
  }

/** How windows of the image are read; absent where it has no tiles, and so is decoded whole. */
export const windowReader = (path: string, { view, levels }: ImageHeader): ReadWindow | undefined => {
  const { level } = view
  if (level.tile === undefined) return undefined
  const read = (window: ImageWindow): Outcome<Uint8Array> =>
    pipe(
      TE.tryCatch(
        async (): Promise<{ readonly data: Uint8Array; readonly info: OutputInfo }> =>
          loadSharp()(path, levelOptions(level)).extract(window).removeAlpha().toColourspace('srgb').raw({ depth: 'uchar' }).toUint8Array(),
        windowFailure(path, levels, level, window)
      ),
      TE.filterOrElse(
        ({ info }) => info.channels === 3,
        ({ info }) => inputFailure(`the image ${path} has ${info.channels} channels after conversion where 3 are wanted; store it as RGB`)
      ),
      TE.map(({ data }) => data)
    )
  if (isStored(view)) return read
  const [rows, columns] = [
    { stored: level.height, read: view.height },
    { stored: level.width, read: view.width }
  ]
  return ({ top, left, height, width }) => {
    const window = { rows: { from: top, count: height }, columns: { from: left, count: width } }
    const [storedRows, storedColumns] = [storedSpan(rows, window.rows), storedSpan(columns, window.columns)]
    return pipe(
      read({ top: storedRows.from, left: storedColumns.from, height: storedRows.count, width: storedColumns.count }),
      TE.map((pixels) => resampleWindow(pixels, rows, columns, window))
    )
  }
}
