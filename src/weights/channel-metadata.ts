import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import * as t from 'io-ts'
import type { PixelType } from '../../native'
import { decodeMetadata, jsonText } from './decode-metadata'
import type { Metadata } from './safetensors'

/** What the channels of a network's input were in training, where they were not RGB of 8 bits. */
export interface TrainedChannels {
  /** Numbers of bands, from 1; all where absent. */
  readonly bands?: readonly number[]
  readonly mean: readonly number[]
  readonly deviation: readonly number[]
  /** What the values were stored as, in whose unit the mean and the deviation are. */
  readonly elementType?: PixelType
}

const key = 'tilefold.channels'

const finite = t.refinement(t.number, Number.isFinite)
/** Codec of the mean and the deviation of channels, as --mean and --deviation take them. */
export const normalisationCodec = t.type({
  mean: t.readonlyArray(finite),
  deviation: t.readonlyArray(t.refinement(finite, (value) => value > 0))
})
const bands = t.readonlyArray(t.refinement(t.number, (value) => Number.isSafeInteger(value) && value >= 1))
const elementType = t.keyof({ uint8: null, uint16: null, int16: null, float32: null } satisfies Record<PixelType, null>)
const fields = t.readonly(t.intersection([normalisationCodec, t.partial({ bands, elementType })]))
const codec = t.refinement(fields, ({ mean, deviation, bands = mean }) => deviation.length === mean.length && bands.length === mean.length)

/** What a weights file keeps of the channels of its network's input; nothing of RGB of 8 bits. */
export const channelMetadata = (channels: TrainedChannels | undefined): Metadata =>
  channels === undefined ? {} : { [key]: JSON.stringify(channels) }

/** What a file of weights says of its channels; undefined where it says nothing. */
export const decodeTrainedChannels = decodeMetadata({ key, subject: 'channels', options: '--bands, --mean and --deviation' }, (text) =>
  pipe(
    jsonText(codec)(text),
    E.map(({ mean, deviation, bands, elementType }): TrainedChannels => ({
      mean,
      deviation,
      ...(bands && { bands }),
      ...(elementType && { elementType })
    }))
  )
)
