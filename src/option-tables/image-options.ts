import * as E from 'fp-ts/Either'
import { type Failure, inputFailure } from '../failure'
import { type Resolution, finest } from '../images/resolution'
import { positive, whole } from '../options/kinds'
import { type DecodedOptions, optional } from '../options/option'

const mostLevels = 1000

/** At which of the sizes that a file holds an image is read. */
export const resolutionOptions = {
  /** The level of a pyramid, of which 0 is the finest. */
  level: optional(whole(0, mostLevels), 'level of images that are stored at several sizes; 0 is the finest', {
    otherwise: '0',
    conflicts: ['mpp']
  }),
  /** Micrometres a pixel: the nearest level that is as fine, resampled. */
  mpp: optional(positive, 'micrometres a pixel: the nearest level that is at least as fine, resampled (docs/images.md)', {
    otherwise: 'as stored'
  })
}

export const resolutionOf = ({ level, mpp }: DecodedOptions<typeof resolutionOptions>): E.Either<Failure, Resolution> => {
  if (level !== undefined && mpp !== undefined) return E.left(inputFailure('--level and --mpp both say how fine images are read: give one'))
  if (mpp !== undefined) return E.right({ micronsPerPixel: mpp })
  return E.right(level === undefined ? finest : { level })
}
