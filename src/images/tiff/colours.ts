import type { TiffDirectory } from './directories'

const [cmyk, yCbCr] = [5, 6]
const jpegs: readonly number[] = [6, 7]
/** White is zero, black is zero, RGB, palette, CMYK. */
const known: readonly number[] = [0, 1, 2, 3, 5]
/** Of Aperio. */
const jpeg2000: readonly number[] = [33003, 33005, 34712]

/**
 * Returns why the colours of a TIFF, which the decoder hands out as they are stored, would be other
 * ones, or none; undefined where they are right. YCbCr is made RGB by JPEG alone.
 */
export const findColourFault = ({ photometric, compression }: TiffDirectory): string | undefined => {
  if (jpeg2000.includes(compression)) return 'is compressed as JPEG 2000, which is not read: store it with JPEG, LZW or deflate'
  if (photometric === undefined || known.includes(photometric)) return undefined
  if (photometric !== yCbCr) return `has colours of a kind that is not read (photometric interpretation ${photometric}): store it as RGB`
  return jpegs.includes(compression) ? undefined : 'has YCbCr colours that are not compressed as JPEG: store it as RGB'
}

/** None, LZW, JPEG, deflate, PackBits, LERC, zstd. */
const bandMethods: readonly number[] = [1, 5, 7, 8, 32946, 32773, 34887, 50000]
const methodNames: Readonly<Record<number, string>> = {
  6: 'the JPEG of TIFF 6.0',
  34887: 'LERC',
  34925: 'LZMA',
  50000: 'zstd',
  50001: 'WebP',
  50002: 'JPEG XL'
}
/** What sharp is built without. */
const undecodedMethods: readonly number[] = [6, 34887, 34925, 50000, 50002]

/** libvips 8.18 decodes tiles of JPEG of one channel, three, or four of CMYK. */
const isJpegBesideColours = ({ compression, channels, photometric, tile }: TiffDirectory): boolean =>
  compression === 7 && tile !== undefined && (channels === 2 || (channels === 4 && photometric !== cmyk))

/** Returns why sharp does not decode a TIFF of 8-bit samples; undefined where it does. */
export const findDecoderFault = (directory: TiffDirectory): string | undefined => {
  const { compression, isPlanar, channels, tile } = directory
  if (undecodedMethods.includes(compression))
    return `is compressed by ${methodNames[compression]}, of which 8-bit grey and colours are not read`
  if (isJpegBesideColours(directory)) return 'has a channel beside its colours in tiles of JPEG, which are not read as colours'
  // Of grey and a channel beside, libvips 8.18 takes strips of both for rows of one.
  return isPlanar && (tile !== undefined || channels === 2)
    ? `has ${tile === undefined ? 'strips' : 'tiles'} of its own for each colour, which are not read as colours`
    : undefined
}

/** White as zero, by a palette, or YCbCr: what is stored is not what is seen. */
const isDrawnOtherwise = (photometric: number | undefined): boolean => [0, 3, yCbCr].includes(photometric ?? 1)

/** What to do about it: bands are read by another decoder. */
const decoderRemedy = (directory: TiffDirectory): string => {
  const { compression, channels, photometric } = directory
  const methods = isJpegBesideColours(directory) ? 'deflate or LZW' : 'deflate, LZW or JPEG'
  return bandMethods.includes(compression) && !isDrawnOtherwise(photometric)
    ? `give --bands ${channels < 3 ? '1,1,1' : '1,2,3'}, or store it with ${methods}, colours together`
    : `store it with ${methods}`
}

/** Returns why a TIFF is not read as RGB, and what to do; undefined where it is. */
export const findFaultAsColours = (directory: TiffDirectory): string | undefined => {
  const fault = findDecoderFault(directory)
  return fault === undefined ? findColourFault(directory) : `${fault}: ${decoderRemedy(directory)}`
}

/** Returns why the bands of a TIFF are not read as they are stored; undefined where they are. */
export const findBandFault = (directory: TiffDirectory): string | undefined => {
  const { compression, photometric, predictor, isBigEndian, bits, isReversed } = directory
  if (!bandMethods.includes(compression))
    return `is compressed by ${methodNames[compression] ?? `method ${compression}`}, of which no bands are read: store it with deflate, LZW or zstd`
  if (photometric === yCbCr) return 'has YCbCr colours, of which no bands are read: leave out --bands, or store it as RGB'
  if (isReversed && !jpegs.includes(compression))
    return 'has the bits of each byte in reverse (fill order 2), of which no bands are read: store it with fill order 1'
  // geotiff 3.0.5 adds up differences in the machine's order of bytes, whatever the file's is.
  return isBigEndian && predictor !== 1 && bits[0]! > 8
    ? 'is big-endian and compressed with a predictor, which is not read: store it little-endian, or without a predictor'
    : undefined
}
