import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import type { PixelType } from '../../native'
import { type Failure, type Outcome, inputFailure } from '../failure'
import type { SeenImage } from '../images/image-notices'
import { type ChannelStatistics, givenNormalisation } from '../images/normalisation'
import { pixelBytes } from '../images/samples'
import { notifyOnce } from '../images/unread'
import type { TrainedChannels } from '../weights/channel-metadata'
import { type Measured, measureNormalisation } from './measure-normalisation'
import type { TrainingRequest } from './request'

/** The samples that the network sees in its channels. */
export interface InputChannels {
  /** Absent of RGB of 8 bits that nothing else is said of: ImageNet's. */
  readonly normalisation?: ChannelStatistics
  /** Bytes of a pixel as it reaches the device. */
  readonly pixelBytes: number
  readonly elementType: PixelType
}

/** All images must have values of one type, which one mean and deviation hold for. */
const checkAlike = (seen: readonly SeenImage[]): E.Either<Failure, void> => {
  const [first] = seen as readonly [SeenImage]
  const other = seen.find(({ header }) => header.samples.elementType !== first.header.samples.elementType)
  return other === undefined
    ? E.right(undefined)
    : E.left(
        inputFailure(
          `the image ${other.path} has values of ${other.header.samples.elementType} but ${first.path} has ${first.header.samples.elementType}: train on images of one type`
        )
      )
}

const text = (values: readonly number[]): string => values.map((value) => Number(value.toPrecision(4))).join(',')

/**
 * Mean and deviation of the channels: as given, ImageNet's for RGB of 8 bits, or else measured over
 * the training images and kept beside the data.
 */
export const findInputChannels = (
  { options, resolution, dataset: { source }, notify }: TrainingRequest,
  seen: readonly SeenImage[],
  training: readonly string[],
  channels: number
): Outcome<InputChannels> => {
  const [{ header }] = seen as readonly [SeenImage]
  const stored = { pixelBytes: Math.max(...seen.map((one) => pixelBytes(one.header.samples))), elementType: header.samples.elementType }
  const isColours = header.samples.bands === undefined
  return pipe(
    TE.fromEither(checkAlike(seen)),
    TE.chainEitherK(() =>
      isColours || options.colourJitter === undefined
        ? E.right(undefined)
        : E.left(inputFailure('--colour-jitter changes red, green and blue of 8 bits, which these images are not read as: leave it out'))
    ),
    TE.chainEitherK(() => givenNormalisation(options, channels)),
    TE.chain((given): Outcome<InputChannels> => {
      if (given !== undefined) return TE.right({ normalisation: given, ...stored })
      if (isColours) return TE.right(stored)
      return TE.map(({ mean, deviation, isNew, path }: Measured): InputChannels => {
        if (isNew)
          notify(
            `the channels have means ${text(mean)} and deviations ${text(deviation)}, measured${path === undefined ? '' : ` and kept in ${path}`}`
          )
        return { normalisation: { mean, deviation }, ...stored }
      })(
        measureNormalisation(
          training,
          source,
          resolution,
          channels,
          options.skipBad ? notifyOnce(notify, 'it is left out of the means') : undefined
        )
      )
    })
  )
}

/** How the channels were normalised; undefined of RGB of 8 bits by ImageNet's numbers. */
export const trainedChannels = (
  { resolution: { bands } }: TrainingRequest,
  { normalisation }: InputChannels
): TrainedChannels | undefined => (normalisation === undefined ? undefined : { ...normalisation, ...(bands && { bands }) })
