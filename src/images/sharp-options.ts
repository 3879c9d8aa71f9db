import type Sharp from 'sharp'
import type { ImageLevel } from './tiff-levels'

/**
 * How images are decoded: of any size and number of channels, and refused where they are damaged.
 */
export const sharpOptions = { limitInputPixels: false, limitInputChannels: false, failOn: 'error' } as const satisfies Sharp.SharpOptions

/** Of a TIFF: what of it is damaged is a mere warning to its decoder, and black. */
export const tiffOptions = { ...sharpOptions, failOn: 'warning' } as const satisfies Sharp.SharpOptions

/** How the decoder is told to read a level; the first page is what it reads untold. */
export const levelOptions = ({
  page,
  subDirectory,
  directories
}: Pick<ImageLevel, 'page' | 'subDirectory' | 'directories'>): Sharp.SharpOptions => ({
  ...(directories === undefined ? sharpOptions : tiffOptions),
  ...(page === 0 ? {} : { page }),
  ...(subDirectory === undefined ? {} : { tiff: { subifd: subDirectory } })
})
