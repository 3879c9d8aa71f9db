import type Sharp from 'sharp'
import type { ImageLevel } from './tiff/levels'

/**
 * How images are decoded: of any size and number of channels, and refused where they are damaged.
 */
export const sharpOptions = { limitInputPixels: false, limitInputChannels: false, failOn: 'error' } as const satisfies Sharp.SharpOptions

/**
 * How a TIFF in tiles is opened: a tile that is damaged is a mere warning to its decoder, and
 * black. Damaged strips are refused without it; with it, so are sound ones where a tag is warned
 * of.
 */
export const tiledOptions = { ...sharpOptions, failOn: 'warning' } as const satisfies Sharp.SharpOptions

type LevelPlace = Pick<ImageLevel, 'page' | 'subDirectory' | 'tile' | 'ignoresProfile'>

/** How the decoder is told to read a level; the first page is what it reads untold. */
export const levelOptions = ({ page, subDirectory, tile, ignoresProfile = false }: LevelPlace): Sharp.SharpOptions => ({
  ...(tile === undefined ? sharpOptions : tiledOptions),
  ...(ignoresProfile && { ignoreIcc: true }),
  ...(page === 0 ? {} : { page }),
  ...(subDirectory === undefined ? {} : { tiff: { subifd: subDirectory } })
})
