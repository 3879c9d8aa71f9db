import type Sharp from 'sharp'
import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import type { MappedPixels } from '../native'
import { type Failure, type Outcome, inputFailure, reasonOf } from './failure'
import { pixelsOf, withRoom } from './unpacked'

/** A decoded image: 8-bit red, green, blue, interleaved; height x width x 3 bytes, in memory or on disk. */
export interface Picture {
  readonly pixels: Uint8Array | MappedPixels
  readonly height: number
  readonly width: number
  readonly channels: 3
}

export interface Extent2 {
  readonly height: number
  readonly width: number
}

export const imageExtensions: readonly string[] = ['.png', '.jpg', '.jpeg', '.tif', '.tiff', '.webp']

// Loaded at first use: commands that read no image should not pay for the library's start.
const loadSharp = (): typeof Sharp => require('sharp') as typeof Sharp

const unreadable =
  (path: string) =>
  (thrown: unknown): Failure =>
    inputFailure(`the image ${path} cannot be read: ${reasonOf(thrown)}`)

/** The size that an image takes so that `least` fits into it, its proportions kept; images that are large enough stay as they are. */
export const enlarged = (image: Extent2, least: Extent2): Extent2 => {
  const scale = Math.max(1, least.height / image.height, least.width / image.width)
  return scale === 1
    ? image
    : { height: Math.max(least.height, Math.round(image.height * scale)), width: Math.max(least.width, Math.round(image.width * scale)) }
}

/** Height and width, from an image's header. */
export const readExtent = (path: string): Outcome<Extent2> =>
  pipe(
    TE.tryCatch(() => loadSharp()(path, { limitInputPixels: false }).metadata(), unreadable(path)),
    TE.map(({ height, width }) => ({ height, width }))
  )

/** Larger images are unpacked on disk. */
export const mostInMemory = 2 ** 30

export const pictureBytes = ({ height, width }: Extent2): number => height * width * 3

/**
 * Decodes PNG, JPEG, TIFF or WebP: transparency dropped, greyscale made RGB, 16 bits reduced to 8, and resized up (bicubic) where
 * smaller than `least`. A file that is cut or damaged is a failure, never a half-grey image.
 */
export const decodeImage = (path: string, least: Extent2, inMemory = mostInMemory): Outcome<Picture> => {
  const decode = <A>(stored: Extent2, wanted: Extent2, to: (image: Sharp.Sharp) => Promise<A>, sequentialRead = false): Outcome<A> =>
    TE.tryCatch(() => {
      const image = loadSharp()(path, { limitInputPixels: false, failOn: 'error', sequentialRead }).removeAlpha().toColourspace('srgb')
      return to(wanted === stored ? image : image.resize({ height: wanted.height, width: wanted.width, fit: 'fill' }))
    }, unreadable(path))
  const checked = ({ channels }: Sharp.OutputInfo): E.Either<Failure, void> =>
    channels === 3
      ? E.right(undefined)
      : E.left(inputFailure(`the image ${path} has ${channels} channels after conversion where 3 are wanted; store it as RGB`))
  return pipe(
    readExtent(path),
    TE.chain((stored) => {
      const wanted = enlarged(stored, least)
      const bytes = pictureBytes(wanted)
      const pixels: Outcome<Picture['pixels']> =
        bytes <= inMemory
          ? pipe(
              decode(stored, wanted, (image) => image.raw({ depth: 'uchar' }).toBuffer({ resolveWithObject: true })),
              TE.chainFirstEitherK(({ info }) => checked(info)),
              TE.map(({ data }) => data)
            )
          : withRoom(`the image ${path}`, bytes, (file) =>
              pipe(
                decode(stored, wanted, (image) => image.toFile(file), true),
                TE.chainEitherK(checked),
                TE.chainEitherK(() => pixelsOf(file, bytes))
              )
            )
      return TE.map((decoded: Picture['pixels']): Picture => ({ pixels: decoded, ...wanted, channels: 3 }))(pixels)
    })
  )
}
