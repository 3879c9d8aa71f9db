import * as E from 'fp-ts/Either'
import { predicateCodec } from '../../staging/decoding/predicate-codec'
import { type Failure, inputFailure } from '../failure'
import { finest } from '../images/resolution'
import { type Reading, mostChannels } from '../images/samples'
import { boundedListCodec, wholeNumberCodec } from '../options/codecs'
import { commaList, decimal, positive, readAs, whole } from '../options/kinds'
import { type DecodedOptions, optional } from '../options/option'

const mostLevels = 1000

const mostBands = 65535

const bandList = commaList<number, number>(
  'bands',
  boundedListCodec(wholeNumberCodec(1, mostBands), 1, mostChannels),
  (text) => (/^[1-9]\d{0,4}$/.test(text.trim()) ? E.right(Number(text)) : E.left(`"${text}" is no number of a band, from 1`)),
  mostChannels
)

const finite = predicateCodec<number>('a number', (value) => Number.isFinite(value))
const deviation = predicateCodec<number>('a number above zero', (value) => typeof value === 'number' && value > 0 && value < Infinity)
const perChannel = (codec: typeof finite) =>
  commaList<number, number>('values', boundedListCodec(codec, 1, mostChannels), readAs(codec, decimal), mostChannels)

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
  }),
  /** Numbers of the bands that are read, from 1, one for each channel of the network. */
  bands: optional(bandList, 'bands of images that the channels of the network are, from 1, such as 4,3,2', { otherwise: 'all' }),
  /** Of each channel: as stored, but of 8 bits from 0 to 1. */
  mean: optional(perChannel(finite), 'mean of each channel: of values as they are stored, of 8 bits from 0 to 1', {
    otherwise: "ImageNet's of RGB, else measured in training and kept in the weights"
  }),
  deviation: optional(perChannel(deviation), 'standard deviation of each channel, as --mean', { otherwise: 'as --mean' })
}

/**
 * How images are read by `level`, `mpp` and `bands`. Fails with code `input` where both of the
 * first two are given.
 */
export const makeReading = ({ level, mpp, bands }: DecodedOptions<typeof resolutionOptions>): E.Either<Failure, Reading> => {
  const chosen = bands === undefined ? {} : { bands }
  if (level !== undefined && mpp !== undefined) return E.left(inputFailure('--level and --mpp both say how fine images are read: give one'))
  if (mpp !== undefined) return E.right({ micronsPerPixel: mpp, ...chosen })
  return E.right({ ...(level === undefined ? finest : { level }), ...chosen })
}
