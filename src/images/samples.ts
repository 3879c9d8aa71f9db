import * as E from 'fp-ts/Either'
import type { PixelType } from '../../native'
import { type Failure, inputFailure } from '../failure'
import type { Resolution } from './resolution'
import { findBandFault } from './tiff/colours'
import type { TiffDirectory } from './tiff/directories'

/** How images are read: at which resolution, which of their bands, and for how many channels. */
export type Reading = Resolution & {
  /** Numbers of bands, from 1, in the order of the network's channels; all where absent. */
  readonly bands?: readonly number[]
  /** Channels that the network takes; where absent, 3 of images that have colours. */
  readonly channels?: number
}

/** The samples of each pixel that reach the network. */
export interface Samples {
  readonly elementType: PixelType
  readonly channels: number
  /** The bands that these are, from 0, of values as they are stored; absent of RGB. */
  readonly bands?: readonly number[]
  /** The value of what holds nothing, which is read as 0. */
  readonly noData?: number
}

/** The most channels that an image is read with, which is what the loading kernel takes. */
export const mostChannels = 64

/** Samples of an image that is read as RGB, of 8 bits. */
export const colours: Samples = { elementType: 'uint8', channels: 3 }

/** Whether an image has RGB of 8 bits. */
export const isRgb = ({ channels, elementType = 'uint8' }: Partial<Pick<Samples, 'channels' | 'elementType'>>): boolean =>
  channels === colours.channels && elementType === colours.elementType

const elementBytes: Readonly<Record<PixelType, number>> = { uint8: 1, uint16: 2, int16: 2, float32: 4 }

/** Bytes of a pixel in memory. */
export const pixelBytes = ({ elementType, channels }: Samples): number => channels * elementBytes[elementType]

const arrays = { uint8: Uint8Array, uint16: Uint16Array, int16: Int16Array, float32: Float32Array } as const
/** Samples of pixels in memory, of one of the types that networks read. */
export type Elements = InstanceType<(typeof arrays)[PixelType]>

/** Zeros: so many samples of a type. */
export const newElements = (type: PixelType, length: number): Elements => new arrays[type](length)

/** Pixels as elements, copied where they do not lie at a multiple of their size. */
export const asElements = (type: PixelType, bytes: Uint8Array): Elements => {
  const { buffer, byteOffset, byteLength } = bytes.byteOffset % elementBytes[type] === 0 ? bytes : bytes.slice()
  return new arrays[type](buffer as ArrayBuffer, byteOffset, byteLength / elementBytes[type])
}

/** The bytes of samples, in the same memory. */
export const asBytes = ({ buffer, byteOffset, byteLength }: Elements): Uint8Array => new Uint8Array(buffer, byteOffset, byteLength)

/** By bits and sample format of TIFF: unsigned, signed, floating-point. */
const elementTypes: Readonly<Record<string, PixelType>> = {
  '8 1': 'uint8',
  '16 1': 'uint16',
  '16 2': 'int16',
  '8 2': 'int16',
  '32 3': 'float32'
}
const formatNames: Readonly<Record<number, string>> = { 2: 'signed ', 3: 'floating-point ', 4: 'undefined ', 5: 'complex ', 6: 'complex ' }

/** Channels of colours by photometric interpretation: grey, RGB, palette, CMYK, YCbCr. */
const photometricColours: Readonly<Record<number, number>> = { 0: 1, 1: 1, 2: 3, 3: 1, 5: 4, 6: 3 }

/** Whether the network takes an image's colours as RGB, of 8 bits. */
const takesColours = ({ bands, channels = 3 }: Reading): boolean => bands === undefined && channels === 3

/** Tells whether a TIFF is read as it is stored: not of 8 bits, or more channels, or bands. */
export const isStoredTiff = ({ bits, sampleFormats, channels, photometric = 1 }: TiffDirectory, reading: Reading): boolean =>
  !takesColours(reading) ||
  bits.some((one) => one > 8) ||
  sampleFormats.some((format) => format !== 1) ||
  channels - (photometricColours[photometric] ?? channels) > 1

const samplesText = ({ elementType, channels }: Samples): string =>
  `${channels} ${channels === 1 ? 'channel' : 'channels'} of ${elementType}`

/** How to name more bands than an image has, where that is clear. */
const repeated = (stored: Samples, channels: number): string =>
  stored.channels === 1 ? `, which may repeat: ${Array.from({ length: channels }, () => 1).join(',')}` : ''

/** Where the channels of a file of several pages are looked for: others write a page for each. */
const placeText = (pages: number): string =>
  pages > 1 ? `in the first of its ${pages} pages, which alone is read (store channels in one page, or as OME-TIFF), ` : ''

/** The bands that are asked for, or all; as many as the network has channels. */
const chooseBands = (path: string, stored: Samples, { bands, channels }: Reading, pages = 1): E.Either<Failure, Samples> => {
  const fail = (fault: string): E.Either<Failure, never> =>
    E.left(inputFailure(`the image ${path} has ${samplesText(stored)} ${placeText(pages)}${fault}`))
  const beyond = bands?.find((band) => band > stored.channels)
  if (beyond !== undefined) return fail(`and no band ${beyond}: bands are counted from 1; give other --bands`)
  const chosen = bands?.map((band) => band - 1) ?? Array.from({ length: stored.channels }, (_, band) => band)
  if (channels !== undefined && chosen.length !== channels)
    return bands === undefined
      ? fail(
          `where the network reads ${channels}: give --bands with ${channels} of them${repeated(stored, channels)}, or train with another --input`
        )
      : fail(`of which --bands names ${chosen.length} where the network reads ${channels}: name as many, or train with another --input`)
  return E.right({ ...stored, channels: chosen.length, bands: chosen })
}

/** The samples that a TIFF stores for each pixel, in the first of `pages` that are no levels. */
export const storedTiffSamples = (path: string, directory: TiffDirectory, reading: Reading, pages: number): E.Either<Failure, Samples> => {
  const { bits, sampleFormats, channels, noData } = directory
  const fault = findBandFault(directory)
  if (fault !== undefined) return E.left(inputFailure(`the image ${path} ${fault}`))
  const [[bit = 1], [format = 1]] = [bits, sampleFormats]
  const elementType = elementTypes[`${bit} ${format}`]
  const isMixed = bits.some((one) => one !== bit) || sampleFormats.some((one) => one !== format)
  if (elementType === undefined || isMixed)
    return E.left(
      inputFailure(
        `the image ${path} has ${isMixed ? 'channels of several kinds' : `${formatNames[format] ?? ''}${bit}-bit samples`}, but uint8, int8, uint16, int16 and float32 are read: convert it`
      )
    )
  return chooseBands(path, { elementType, channels, ...(noData === undefined ? {} : { noData }) }, reading, pages)
}

/** What another file than a TIFF stores, as its decoder tells; undefined where it has colours. */
export const storedSamples = (
  path: string,
  { depth, channels }: { readonly depth: string; readonly channels: number },
  reading: Reading
): E.Either<Failure, Samples | undefined> => {
  if (depth === 'uchar' && takesColours(reading)) return E.right(undefined)
  return chooseBands(path, { elementType: depth === 'ushort' ? 'uint16' : 'uint8', channels }, reading)
}
