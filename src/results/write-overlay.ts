import { rm } from 'node:fs/promises'
import { extname } from 'node:path'
import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import type { Outcome } from '../failure'
import { replaceFileAtomic } from '../files/atomic-write'
import { loadSharp } from '../images/load-sharp'
import type { PixelRows } from './pixel-rows'
import { type PyramidOptions, writePyramid } from './tiff-pyramid'

/** The longest side of a PNG, which people open whole. */
const longestSide = 4096

/** Number of halvings until a picture is small enough. */
const halvings = (longest: number): number => (longest <= longestSide ? 0 : 1 + halvings(Math.ceil(longest / 2)))

/**
 * Writes a picture as *.tif, a pyramid, or *.png, halved until no side is over 4096 pixels. Answers
 * how many pixels along lie in one that is written.
 */
export const writePicture = (path: string, pixels: PixelRows, options: PyramidOptions): Outcome<number> => {
  if (extname(path).toLowerCase() !== '.png') return TE.map(() => 1)(writePyramid(path, pixels, options))
  const page = halvings(Math.max(pixels.height, pixels.width))
  const written = replaceFileAtomic(path, async (temporary) => {
    const pyramid = `${temporary}.tif`
    try {
      const written = await writePyramid(pyramid, pixels, options)()
      if (E.isLeft(written)) throw new Error(written.left.message)
      await loadSharp()(pyramid, { page, limitInputPixels: false }).png().toFile(temporary)
    } finally {
      await rm(pyramid, { force: true })
    }
  })
  return TE.map(() => 2 ** page)(written)
}
