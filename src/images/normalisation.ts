import * as E from 'fp-ts/Either'
import { type Failure, inputFailure } from '../failure'

/**
 * Mean and deviation of each channel of the network's input: of values as they are stored, but of
 * uint8 from 0 to 1.
 */
export interface ChannelStatistics {
  readonly mean: readonly number[]
  readonly deviation: readonly number[]
}

/** What the options say; undefined where they say nothing. */
export const givenNormalisation = (
  { mean, deviation }: { readonly mean?: readonly number[] | undefined; readonly deviation?: readonly number[] | undefined },
  channels: number
): E.Either<Failure, ChannelStatistics | undefined> => {
  if (mean === undefined && deviation === undefined) return E.right(undefined)
  if (mean === undefined || deviation === undefined) return E.left(inputFailure('--mean and --deviation belong together: give both'))
  const wrong = mean.length === channels ? deviation : mean
  if (wrong.length !== channels)
    return E.left(
      inputFailure(
        `--${wrong === mean ? 'mean' : 'deviation'} has ${wrong.length} numbers where the network reads ${channels} channels: give as many`
      )
    )
  return E.right({ mean, deviation })
}
