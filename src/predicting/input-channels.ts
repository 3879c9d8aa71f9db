import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import type { Source } from '../../staging'
import { type Failure, inputFailure } from '../failure'
import type { ImageSource } from '../images/image-source'
import { givenNormalisation } from '../images/normalisation'
import type { Reading } from '../images/samples'
import { imageNetSource } from '../plans/plan-network'
import type { TrainedChannels } from '../weights/channel-metadata'

interface ChannelOptions {
  readonly mean?: readonly number[] | undefined
  readonly deviation?: readonly number[] | undefined
}

/** How images are read: as is asked for, and else as the weights say that they were in training. */
export const resolveReading = (asked: Reading, trained: TrainedChannels | undefined): Reading => {
  if (trained === undefined) return asked
  const bands = asked.bands ?? trained.bands
  return { ...asked, ...(bands && { bands }), channels: trained.mean.length }
}

/** What normalises an image: as is asked for, as in training, or ImageNet's for RGB of 8 bits. */
export const sourceFor = (
  options: ChannelOptions,
  trained: TrainedChannels | undefined,
  { path, channels, elementType, header }: ImageSource
): E.Either<Failure, Source> =>
  pipe(
    givenNormalisation(options, channels),
    E.chain((given): E.Either<Failure, Source> => {
      if (given === undefined && trained?.elementType !== undefined && trained.elementType !== elementType)
        return E.left(
          inputFailure(
            `the image ${path} has values of ${elementType}, but the weights were trained on ${trained.elementType}: convert it, or give --mean and --deviation`
          )
        )
      const normalisation = given ?? trained
      if (normalisation !== undefined) return E.right({ kind: 'image', mean: normalisation.mean, deviation: normalisation.deviation })
      return header.samples.bands === undefined
        ? E.right(imageNetSource)
        : E.left(
            inputFailure(
              `the image ${path} has ${channels} ${channels === 1 ? 'channel' : 'channels'} of ${elementType}, and the weights do not say how they were normalised in training: give --mean and --deviation`
            )
          )
    })
  )
