import type { TiffDirectory } from './tiff-directories'

const yCbCr = 6
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
