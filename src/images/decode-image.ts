import type Sharp from 'sharp'
import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import type { PixelType, MappedPixels } from '../../native'
import { type Failure, type Outcome, inputFailure } from '../failure'
import { enlargeFile, enlargePixels } from './enlarge'
import { type ImageHeader, decodeFailure, readHeader } from './image-header'
import { levelOptions, sharpOptions } from './sharp-options'
import { windowReader } from './image-windows'
import { loadSharp } from './load-sharp'
import { type Extent2, extentText, finest } from './resolution'
import { type Reading, type Samples, colours, pixelBytes, asBytes, asElements, newElements } from './samples'
import { decoderPixels, ownPixels } from './raw-pixels'
import { mapPixelFile, withDiskSpace } from './mapped-image-file'

/**
 * A decoded image, interleaved [height, width, channels], in memory or on disk: 8-bit red, green
 * and blue, or values as they are stored.
 */
export interface DecodedImage {
  readonly pixels: Uint8Array | MappedPixels
  readonly height: number
  readonly width: number
  readonly channels: number
  readonly elementType: PixelType
}

/** Larger images are unpacked on disk, unless their bands are read as they are stored. */
export const maxBytesInMemory = 2 ** 30

/**
 * Bytes of memory of an image's pixels [H, W, channels] once they are decoded; of RGB where no
 * samples are given.
 */
export const decodedBytes = ({ height, width }: Extent2, samples: Samples = colours): number => height * width * pixelBytes(samples)

/** Limit of bytes of an image that is upscaled more than twofold. */
const maxUpscaledBytes = 2 ** 28

/**
 * The size that an image takes so that `least` fits into it, its proportions kept; images that are
 * large enough stay as they are. A thin one that would grow beyond bounds is refused.
 */
export const computeUpscaledExtent = (path: string, image: Extent2, least: Extent2): E.Either<Failure, Extent2> => {
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

/** The bands of an image as they are stored; one that is smaller is refused. */
const decodeStored = (path: string, header: ImageHeader, least: Extent2): Outcome<DecodedImage> => {
  const { height, width, samples, colourSpace = 'srgb' } = header
  const { elementType, channels, bands = [] } = samples
  // As grey the decoder hands out one channel; as red, green and blue that of transparency, too.
  const isBesideGrey = colourSpace === 'b-w' && bands.some((band) => band > 0)
  const placeOf = (band: number): number => (isBesideGrey && band > 0 ? colours.channels : band)
  if (height < least.height || width < least.width)
    return TE.left(
      inputFailure(
        `the image ${path} is ${extentText({ height, width })}, smaller than a crop of ${extentText(least)}: take a smaller --crop`
      )
    )
  const read = windowReader(path, header)
  if (read !== undefined)
    return TE.map((pixels: Uint8Array): DecodedImage => ({ pixels, height, width, channels, elementType }))(
      read({ top: 0, left: 0, height, width })
    )
  return pipe(
    TE.tryCatch(async () => {
      const space = isBesideGrey ? 'srgb' : colourSpace
      // A colour profile says how values look, and is no part of them.
      const stored = loadSharp()(path, { ...sharpOptions, ignoreIcc: true })
        .pipelineColourspace(space)
        .toColourspace(space)
      return stored.raw({ depth: elementType === 'uint16' ? 'ushort' : 'uchar' }).toBuffer({ resolveWithObject: true })
    }, decodeFailure(path)),
    TE.map(({ data, info }): DecodedImage => {
      const stored = asElements(elementType, ownPixels(data))
      const chosen = newElements(elementType, height * width * channels)
      for (let pixel = 0; pixel < height * width; pixel += 1)
        for (let channel = 0; channel < channels; channel += 1)
          chosen[pixel * channels + channel] = stored[pixel * info.channels + placeOf(bands[channel]!)]!
      return { pixels: asBytes(chosen), height, width, channels, elementType }
    })
  )
}

/**
 * Decodes PNG, JPEG, TIFF or WebP with 8-bit samples: colours by their profile as sRGB, greyscale
 * made RGB, transparency dropped, and enlarged where smaller than `least`; of more than `inMemory`
 * bytes on disk. Bands, and 16 bits, stay as they are stored, and in memory. A file that is cut or
 * damaged is a failure, never a half-grey image.
 */
export const decodeImage = (
  path: string,
  least: Extent2,
  inMemory = maxBytesInMemory,
  reading: Reading = finest
): Outcome<DecodedImage> => {
  const decode = <A>({ view }: ImageHeader, to: (image: Sharp.Sharp) => Promise<A>, sequentialRead = false): Outcome<A> =>
    TE.tryCatch(
      async () =>
        to(
          loadSharp()(path, { ...levelOptions(view.level), sequentialRead })
            .removeAlpha()
            .toColourspace('srgb')
        ),
      decodeFailure(path)
    )
  const checkChannels = ({ channels }: Sharp.OutputInfo): E.Either<Failure, void> =>
    channels === 3
      ? E.right(undefined)
      : E.left(inputFailure(`the image ${path} has ${channels} channels after conversion where 3 are wanted; store it as RGB`))
  const decodeInMemory = (header: ImageHeader, wanted: Extent2): Outcome<Uint8Array> =>
    pipe(
      decode(header, decoderPixels),
      TE.chainFirstEitherK(({ info }) => checkChannels(info)),
      TE.map(({ data }) => ownPixels(data)),
      TE.chain((pixels) => (wanted === header ? TE.right(pixels) : TE.fromTask(() => enlargePixels(pixels, header, wanted))))
    )
  const decodeOnDisk = (header: ImageHeader, wanted: Extent2): Outcome<MappedPixels> => {
    const onDisk = <A>(extent: Extent2, use: (file: string) => Outcome<A>): Outcome<A> =>
      withDiskSpace(`the image ${path}`, decodedBytes(extent), use)
    const decodeTo = (file: string): Outcome<void> => TE.chainEitherK(checkChannels)(decode(header, (image) => image.toFile(file), true))
    const enlargeTo = (file: string): Outcome<void> =>
      onDisk(header, (stored) =>
        TE.chain(() => TE.tryCatch(() => enlargeFile(stored, file, header, wanted), decodeFailure(path)))(decodeTo(stored))
      )
    return onDisk(wanted, (file) =>
      TE.chainEitherK(() => mapPixelFile(file, decodedBytes(wanted)))(wanted === header ? decodeTo(file) : enlargeTo(file))
    )
  }
  const decodeColours = (header: ImageHeader): Outcome<DecodedImage> =>
    pipe(
      TE.fromEither(computeUpscaledExtent(`the image ${path}`, header, least)),
      TE.chain((wanted) =>
        TE.map((pixels: DecodedImage['pixels']): DecodedImage => ({
          pixels,
          height: wanted.height,
          width: wanted.width,
          channels: 3,
          elementType: 'uint8'
        }))<Failure>(decodedBytes(wanted) <= inMemory ? decodeInMemory(header, wanted) : decodeOnDisk(header, wanted))
      )
    )
  return pipe(
    readHeader(path, reading),
    TE.chain((header) => (header.samples.bands === undefined ? decodeColours(header) : decodeStored(path, header, least)))
  )
}
