import { extname } from 'node:path'
import * as TE from 'fp-ts/TaskEither'
import type { Outcome } from '../failure'
import { replaceFileAtomic } from '../files/atomic-write'
import { loadSharp } from '../images/load-sharp'
import type { PixelRows } from './pixel-rows'
import { type Content, type PyramidOptions, halve, writePyramid } from './tiff-pyramid'

/** The longest side of a PNG, which people open whole. */
const longestSide = 4096
/** Rows of the picture at its own extent that are taken at a time. */
const rowsAtOnce = 256

const micronsPerInch = 25_400

const picture: Content = { of: 'picture', samples: 3, isFloat: false }

/** A picture at half the extent. */
const halvedRows = (pixels: PixelRows): PixelRows => {
  const [height, width] = [Math.ceil(pixels.height / 2), Math.ceil(pixels.width / 2)]
  const rows = async (top: number, count: number): Promise<Uint8Array> => {
    const given = Math.min(2 * count, pixels.height - 2 * top)
    const half = new Uint8Array(count * width * picture.samples)
    halve(await pixels.rows(2 * top, given), given, pixels.width, picture, half)
    return half
  }
  return { height, width, samples: 3, rows }
}

/** A picture halved until it is small enough, and how many of its pixels along lie in one then. */
const smallEnough = (pixels: PixelRows, along = 1): readonly [PixelRows, number] =>
  Math.max(pixels.height, pixels.width) <= longestSide ? [pixels, along] : smallEnough(halvedRows(pixels), 2 * along)

/** The pixels of a small picture, of which a band at its own extent is in memory. */
const readWhole = async ({ height, width, rows }: PixelRows, along: number): Promise<Uint8Array> => {
  const whole = new Uint8Array(height * width * picture.samples)
  const atOnce = Math.max(1, Math.floor(rowsAtOnce / along))
  for (let top = 0; top < height; top += atOnce) whole.set(await rows(top, Math.min(atOnce, height - top)), top * width * picture.samples)
  return whole
}

/**
 * Writes a picture as *.tif, a pyramid, or *.png, halved until no side is over 4096 pixels. Answers
 * how many pixels along lie in one that is written.
 */
export const writePicture = (path: string, pixels: PixelRows, options: PyramidOptions): Outcome<number> => {
  if (extname(path).toLowerCase() !== '.png') return TE.map(() => 1)(writePyramid(path, pixels, options))
  const [small, along] = smallEnough(pixels)
  const written = replaceFileAtomic(path, async (temporary) => {
    const { height, width } = small
    const image = loadSharp()(await readWhole(small, along), { raw: { height, width, channels: 3 } })
    const placed = options.micronsPerPixel === undefined ? image : image.withDensity(micronsPerInch / (along * options.micronsPerPixel))
    await placed.png().toFile(temporary)
  })
  return TE.map(() => along)(written)
}
