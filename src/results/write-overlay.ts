import { rm } from 'node:fs/promises'
import { extname } from 'node:path'
import * as E from 'fp-ts/Either'
import type { Outcome } from '../failure'
import { replaceFileAtomic } from '../files/atomic-write'
import { loadSharp } from '../images/load-sharp'
import type { PixelRows } from './pixel-rows'
import { type PyramidOptions, writePyramid } from './tiff-pyramid'

/** The longest side of a PNG, which people open whole. */
const longestSide = 4096

/** Number of halvings until a picture is small enough. */
const halvings = (longest: number): number => (longest <= longestSide ? 0 : 1 + halvings(Math.ceil(longest / 2)))

/** Writes a picture as *.tif, a pyramid, or *.png, halved until no side is over 4096 pixels. */
export const writePicture = (path: string, pixels: PixelRows, options: PyramidOptions): Outcome<void> => {
  if (extname(path).toLowerCase() !== '.png') return writePyramid(path, pixels, options)
  return replaceFileAtomic(path, async (temporary) => {
    const pyramid = `${temporary}.tif`
    try {
      const written = await writePyramid(pyramid, pixels, options)()
      if (E.isLeft(written)) throw new Error(written.left.message)
      await loadSharp()(pyramid, { page: halvings(Math.max(pixels.height, pixels.width)), limitInputPixels: false })
        .png()
        .toFile(temporary)
    } finally {
      await rm(pyramid, { force: true })
    }
  })
}
