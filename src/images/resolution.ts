import * as E from 'fp-ts/Either'
import { type Failure, inputFailure } from '../failure'
import type { ImageLevel } from './tiff/levels'

/** Pixels that an image, a crop or a window is high and wide. */
export interface Extent2 {
  readonly height: number
  readonly width: number
}

/** An extent as messages tell it: height x width. */
export const extentText = ({ height, width }: Extent2): string => `${height}x${width}`

/**
 * What an image is read at: one of its levels, of which 0 is the finest, or so many micrometres a
 * pixel.
 */
export type Resolution = { readonly level: number } | { readonly micronsPerPixel: number }

/** The resolution of images that are read as they are stored: of pyramids the finest level. */
export const finest: Resolution = { level: 0 }

/** An image at a resolution: a level, which is resampled where it has another extent. */
export interface View extends Extent2 {
  readonly level: ImageLevel
  /** Absent where the file does not tell it. */
  readonly micronsPerPixel?: number
}

/** A level this near to what is asked for is taken as it is. */
const nearEnough = 0.01

/** How many times finer than the finest level an image may be read. */
const mostEnlarged = 2

/** Tells whether a view is a level as it is stored. */
export const isStored = ({ level, height, width }: View): boolean => level.height === height && level.width === width

const levelNames = (count: number): string => (count === 1 ? 'is stored in one level' : `is stored in ${count} levels, 0 to ${count - 1}`)

/** The level to read, and the extent that it is resampled to. */
export const chooseLevel = (
  path: string,
  levels: readonly ImageLevel[],
  finestMicrons: number | undefined,
  resolution: Resolution
): E.Either<Failure, View> => {
  const fail = (fault: string): E.Either<Failure, never> => E.left(inputFailure(`the image ${path} ${fault}`))
  const micronsOf = ({ width }: ImageLevel): number | undefined =>
    finestMicrons === undefined ? undefined : (finestMicrons * levels[0]!.width) / width
  const stored = (level: ImageLevel): View => {
    const micronsPerPixel = micronsOf(level)
    return { height: level.height, width: level.width, level, ...(micronsPerPixel === undefined ? {} : { micronsPerPixel }) }
  }
  if ('level' in resolution) {
    const level = levels[resolution.level]
    return level === undefined
      ? fail(`${levelNames(levels.length)}, so there is no level ${resolution.level}: give another --level`)
      : E.right(stored(level))
  }
  const { micronsPerPixel: asked } = resolution
  if (finestMicrons === undefined) return fail('does not say how many micrometres a pixel is: give --level instead of --mpp')
  if (asked < finestMicrons / mostEnlarged)
    return fail(`has ${Number(finestMicrons.toPrecision(4))} micrometres a pixel at its finest: give --mpp of at least half of that`)
  // One that is coarser than asked for would be blurred.
  const level = levels.findLast((one) => micronsOf(one)! <= asked * (1 + nearEnough)) ?? levels[0]!
  const scale = micronsOf(level)! / asked
  if (Math.abs(scale - 1) <= nearEnough) return E.right(stored(level))
  if (level.tile === undefined) return fail('has no tiles, of which --mpp resamples: store it as a tiled TIFF, or give --level')
  const extent = (stored: number): number => Math.max(1, Math.round(stored * scale))
  return E.right({ height: extent(level.height), width: extent(level.width), level, micronsPerPixel: asked })
}
