import { constants } from 'node:buffer'
import type Sharp from 'sharp'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { type Failure, type Outcome, inputFailure, reasonOf } from './failure'

/** A decoded image: 8-bit red, green, blue, interleaved; height x width x 3 bytes. */
export interface Picture {
  readonly pixels: Uint8Array
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

/**
 * Decodes PNG, JPEG, TIFF or WebP: transparency dropped, greyscale made RGB, 16 bits reduced to 8, and resized up (bicubic) where
 * smaller than `least`. A file that is cut or damaged is a failure, never a half-grey image.
 */
export const decodeImage = (path: string, least: Extent2): Outcome<Picture> => {
  const open = () => loadSharp()(path, { limitInputPixels: false, failOn: 'error' })
  return pipe(
    TE.tryCatch(() => open().metadata(), unreadable(path)),
    TE.map(({ height, width }) => ({ stored: { height, width }, wanted: enlarged({ height, width }, least) })),
    TE.filterOrElse(
      ({ wanted }) => wanted.height * wanted.width * 3 <= constants.MAX_LENGTH,
      ({ wanted }) =>
        inputFailure(
          `the image ${path} takes ${wanted.height * wanted.width * 3} bytes, over the ${constants.MAX_LENGTH} that this Node holds in one buffer; split it`
        )
    ),
    TE.chain(({ stored, wanted }) =>
      TE.tryCatch(() => {
        const image = open().removeAlpha().toColourspace('srgb')
        const sized = wanted === stored ? image : image.resize({ height: wanted.height, width: wanted.width, fit: 'fill' })
        return sized.raw({ depth: 'uchar' }).toBuffer({ resolveWithObject: true })
      }, unreadable(path))
    ),
    TE.chain(({ data, info }) =>
      info.channels === 3
        ? TE.right<Failure, Picture>({ pixels: data, height: info.height, width: info.width, channels: 3 })
        : TE.left(inputFailure(`the image ${path} has ${info.channels} channels after conversion where 3 are wanted; store it as RGB`))
    )
  )
}
