import * as E from 'fp-ts/Either'
import type * as TE from 'fp-ts/TaskEither'
import { markAsUntransferable } from 'node:worker_threads'
import { type MappedPixels, freePixels } from '../system/pixels'

/** Part of an image, in its pixels. */
export interface ImageWindow {
  readonly top: number
  readonly left: number
  readonly height: number
  readonly width: number
}

/** Pixels that are read while a section runs: each window when a kernel needs it, one at a time. */
export interface ReadPixels {
  /** Bytes of a window, unless one pixel is more. */
  readonly windowBytes: number
  /** What of the file is decoded at a time: windows end where such tiles do. 1x1 of one without. */
  readonly tile: { readonly height: number; readonly width: number }
  /**
   * [height, width, channels] of the window, which are freed then, or one sentence, which fails the
   * section.
   */
  readonly readWindow: (window: ImageWindow) => TE.TaskEither<{ readonly message: string }, Uint8Array>
}

/** What a channel of a pixel is stored as, in the machine's order of bytes. */
export type PixelType = 'uint8' | 'uint16' | 'int16' | 'float32'

/**
 * One image, interleaved [height, width, channels], with the crop's corner and what this step does
 * to the crop.
 */
export interface Image {
  /** uint8 where absent. */
  readonly elementType?: PixelType
  readonly pixels: Uint8Array | MappedPixels | ReadPixels
  /** Whether the run takes the Uint8Array for its own, and frees it in the end. */
  readonly isHandedOver?: true
  readonly height: number
  readonly width: number
  readonly channels: number
  readonly cropTop: number
  readonly cropLeft: number
  readonly flipHorizontal: boolean
  readonly flipVertical: boolean
  /**
   * Counter-clockwise, after the flips. For 1 and 3 the crop in the image is as wide as the
   * network's input is high.
   */
  readonly quarterTurns: 0 | 1 | 2 | 3
  /**
   * [3, 4] row by row: takes (red, green, blue, 1), each within 0 .. 1, to the new three, clamped
   * to 0 .. 1. Of 3 channels of uint8 only.
   */
  readonly colour?: Float32Array
}

/** Whether pixels are read while a section runs. */
export const isRead = (pixels: Image['pixels']): pixels is ReadPixels => 'readWindow' in pixels

/**
 * Keeps the buffers of pixels, which the addon reads off the main thread, with this one: given to
 * another thread, they would be freed there.
 */
export const pinPixels = (images: readonly Image[]): void => {
  for (const { pixels, isHandedOver } of images)
    // What is handed over is nobody else's; marked, it could not be freed from Node 24.15 on.
    if (pixels instanceof Uint8Array && isHandedOver !== true) markAsUntransferable(pixels.buffer)
}

/** The image as the addon takes it; `onRefused` is told each sentence in place of pixels. */
export const asGiven =
  (onRefused: (sentence: string) => void) =>
  (image: Image): object => {
    const { pixels } = image
    if (!isRead(pixels)) return image
    const { windowBytes, tile, readWindow } = pixels
    const refuse = (sentence: string): string => (onRefused(sentence), sentence)
    const read = (top: number, left: number, height: number, width: number, answer: (given: Uint8Array | string) => void): void => {
      const readOne = async (): Promise<E.Either<{ readonly message: string }, Uint8Array>> => readWindow({ top, left, height, width })()
      readOne()
        .then(
          E.fold(
            ({ message }) => answer(refuse(message)),
            (given) => {
              answer(given)
              freePixels(given)
            }
          )
        )
        .catch((thrown: unknown) => answer(refuse(String(thrown))))
    }
    return { ...image, pixels: { windowBytes, tile, read } }
  }
