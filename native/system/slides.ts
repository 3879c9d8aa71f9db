import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import type * as TE from 'fp-ts/TaskEither'
import * as t from 'io-ts'
import { loadAddon } from '../addon/addon'
import { bytesCodec } from '../addon/codecs'
import { type DeviceError, decodeAnswer, decodePromised } from '../addon/error'
import type { ImageWindow } from '../session/image'

/** A slide that OpenSlide has open; closed when nothing refers to it. */
export interface Slide {
  /** OpenSlide's name of the format. */
  readonly vendor: string
  /** Micrometres per pixel of the finest level; absent where the file does not say it. */
  readonly micronsPerPixel?: number
  /** Finest first. */
  readonly levels: readonly { readonly height: number; readonly width: number }[]
  /** RGB [height, width, 3] of a window of a level; what holds nothing is white. */
  readonly read: (level: number, window: ImageWindow) => TE.TaskEither<DeviceError, Uint8Array>
}

const slideAnswer = decodeAnswer(
  t.type({
    vendor: t.string,
    micronsPerPixel: t.number,
    heights: t.readonlyArray(t.number),
    widths: t.readonlyArray(t.number),
    read: t.Function
  })
)
const pixelsAnswer = decodePromised(bytesCodec('pixels'))

/**
 * Opens a slide with OpenSlide 3.4 or 4, which is found when this is first called: in
 * TILEFOLD_OPENSLIDE_PATH, or where the loader looks. The failure says what is missing.
 */
export const openSlide = (path: string): E.Either<DeviceError, Slide> =>
  pipe(
    loadAddon(),
    E.chain((addon) => slideAnswer(addon.openSlide({ path }))),
    E.map(({ vendor, micronsPerPixel, heights, widths, read }) => ({
      vendor,
      ...(micronsPerPixel > 0 ? { micronsPerPixel } : {}),
      levels: heights.map((height, level) => ({ height, width: widths[level]! })),
      read: (level, window) => () => pixelsAnswer(read({ level, ...window }))
    }))
  )
