import type Sharp from 'sharp'
import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import type { MappedPixels } from '../../native'
import { type Failure, type Outcome, inputFailure } from '../failure'
import { type ImageHeader, levelOptions, readFailure, readHeader, sharpOptions } from './image-header'
import { loadSharp } from './load-sharp'
import { type Extent2, type Resolution, extentText, finest } from './resolution'
import { decoderPixels, ownPixels } from './raw-pixels'
import { mapPixelFile, withDiskSpace } from './mapped-image-file'

/**
 * A decoded image: 8-bit red, green, blue, interleaved; height x width x 3 bytes, in memory or on
 * disk.
 */
export interface DecodedImage {
  readonly pixels: Uint8Array | MappedPixels
  readonly height: number
  readonly width: number
  readonly channels: 3
}

export const imageExtensions: readonly string[] = ['.png', '.jpg', '.jpeg', '.tif', '.tiff', '.svs', '.webp']

/** Larger images are unpacked on disk. */
export const maxBytesInMemory = 2 ** 30

export const decodedBytes = ({ height, width }: Extent2): number => height * width * 3

/** Limit of bytes of an image that is upscaled more than twofold. */
const maxUpscaledBytes = 2 ** 28

/**
 * The size that an image takes so that `least` fits into it, its proportions kept; images that are
 * large enough stay as they are. A thin one that would grow beyond bounds is refused.
 */
export const upscaledExtent = (path: string, image: Extent2, least: Extent2): E.Either<Failure, Extent2> => {
  const scale = Math.max(1, least.height / image.height, least.width / image.width)
  if (scale === 1) return E.right(image)
  const wanted = {
    height: Math.max(least.height, Math.round(image.height * scale)),
    width: Math.max(least.width, Math.round(image.width * scale))
  }
  return scale <= 2 || decodedBytes(wanted) <= maxUpscaledBytes
    ? E.right(wanted)
    : E.left(
        inputFailure(
          `${path} is ${extentText(image)}: to hold a crop of ${extentText(least)} it would be enlarged to ${extentText(wanted)}; take a smaller --crop, or leave it out`
        )
      )
}

/**
 * Decodes PNG, JPEG, TIFF or WebP with 8-bit samples: colours by their profile as sRGB, greyscale
 * made RGB, transparency dropped, and resized up (bicubic) where smaller than `least`. A file that
 * is cut or damaged is a failure, never a half-grey image.
 */
export const decodeImage = (
  path: string,
  least: Extent2,
  inMemory = maxBytesInMemory,
  resolution: Resolution = finest
): Outcome<DecodedImage> => {
  const open = async (stored: ImageHeader, wanted: Extent2, sequentialRead: boolean): Promise<Sharp.Sharp> => {
    const image = loadSharp()(path, { ...levelOptions(stored.view.level), sequentialRead })
      .removeAlpha()
      .toColourspace('srgb')
    if (wanted === stored) return image
    const size = { height: wanted.height, width: wanted.width, fit: 'fill' } as const
    if (!stored.hasAlpha) return image.resize(size)
    // Resizing would weigh the colours by the transparency that is dropped.
    const { data, info } = await image.raw({ depth: 'uchar' }).toBuffer({ resolveWithObject: true })
    return loadSharp()(data, { ...sharpOptions, raw: info }).resize(size)
  }
  const decode = <A>(stored: ImageHeader, wanted: Extent2, to: (image: Sharp.Sharp) => Promise<A>, sequential = false): Outcome<A> =>
    TE.tryCatch(() => open(stored, wanted, sequential).then(to), readFailure(path))
  const checkChannels = ({ channels }: Sharp.OutputInfo): E.Either<Failure, void> =>
    channels === 3
      ? E.right(undefined)
      : E.left(inputFailure(`the image ${path} has ${channels} channels after conversion where 3 are wanted; store it as RGB`))
  return pipe(
    TE.Do,
    TE.bind('stored', () => readHeader(path, resolution)),
    TE.bind('wanted', ({ stored }) => TE.fromEither(upscaledExtent(`the image ${path}`, stored, least))),
    TE.chain(({ stored, wanted }) => {
      const bytes = decodedBytes(wanted)
      const pixels: Outcome<DecodedImage['pixels']> =
        bytes <= inMemory
          ? pipe(
              decode(stored, wanted, decoderPixels),
              TE.chainFirstEitherK(({ info }) => checkChannels(info)),
              TE.map(({ data }) => ownPixels(data))
            )
          : withDiskSpace(`the image ${path}`, bytes, (file) =>
              pipe(
                decode(stored, wanted, (image) => image.toFile(file), true),
                TE.chainEitherK(checkChannels),
                TE.chainEitherK(() => mapPixelFile(file, bytes))
              )
            )
      return TE.map((decoded: DecodedImage['pixels']): DecodedImage => ({
        pixels: decoded,
        height: wanted.height,
        width: wanted.width,
        channels: 3
      }))(pixels)
    })
  )
}
