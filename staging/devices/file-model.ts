import type * as E from 'fp-ts/Either'
import * as t from 'io-ts'
import { decodeAs } from '../decoding/decode'
import type { DeviceModel } from './device-model'
import { rate, seconds } from '../decoding/magnitudes'
import { strictObject } from '../decoding/strict-object'
import { deviceProfile, type Profile } from './profile'
import { elementSizes } from '../kernels/precision'
import { recordedDevice, makeRecordedModel, type RecordedDevice } from './recorded-device'
import { referenceModel } from './reference-model'
import { roofline } from '../kernels/roofline'

const bytes = t.refinement(t.number, (value) => Number.isSafeInteger(value) && value > 0, 'a whole number of bytes above 0')
const name = t.refinement(t.string, (value) => value !== '', 'a name')

/** A device by the figures of its data sheet or of a measurement. */
interface DeviceSheet {
  readonly name: string
  readonly memoryBytes: number
  /** Floating-point operations that its kernels sustain, by precision. */
  readonly flopsPerSecond: { readonly float32: number; readonly float64: number }
  /** Bytes a second of the device's own memory. */
  readonly bytesPerSecond: number
  readonly launchSeconds: number
  readonly linkBytesPerSecond: { readonly toDevice: number; readonly toHost: number }
  /** Of a GPU, which small products leave partly idle. */
  readonly multiprocessors?: number
}

const flopsPerSecond = strictObject<DeviceSheet['flopsPerSecond']>('a described device', 'precision', { float32: rate, float64: rate }, {})
const linkBytesPerSecond = strictObject<DeviceSheet['linkBytesPerSecond']>('a link', 'direction', { toDevice: rate, toHost: rate }, {})

const deviceSheet = strictObject<DeviceSheet>(
  'a device',
  'field',
  { name, memoryBytes: bytes, flopsPerSecond, bytesPerSecond: rate, launchSeconds: seconds, linkBytesPerSecond },
  { multiprocessors: rate }
)

/** A device that is elsewhere: by its rates, or by all that it answered there. */
export type DescribedDevice = DeviceSheet | RecordedDevice

/**
 * A device that can be planned for: described by a sheet, or a cpu with the times of its profile.
 */
export type DeviceFile = DescribedDevice | Profile

/**
 * Returns the kind of a device file's value, right or wrong: a profile alone says which `device` it
 * is of.
 */
export const deviceFileKind = (value: unknown): 'recorded' | 'profile' | 'sheet' => {
  if (!t.UnknownRecord.is(value)) return 'sheet'
  return 'recorded' in value ? 'recorded' : typeof value.device === 'string' ? 'profile' : 'sheet'
}

/** Tells whether a device file holds a GPU's recorded answers. */
export const isRecorded = (file: DeviceFile): file is RecordedDevice => deviceFileKind(file) === 'recorded'

/** Tells whether a device file holds measured times of a cpu's kernels. */
export const isProfile = (file: DeviceFile): file is Profile => deviceFileKind(file) === 'profile'

/** A device file's name for people. */
export const deviceFileName = (file: DeviceFile): string => (isProfile(file) ? `${file.device} (${file.library})` : file.name)

const cpuProfile = t.intersection([t.type({ device: t.literal('cpu', 'cpu') }), deviceProfile])

const decoders = {
  recorded: decodeAs('device', recordedDevice),
  profile: decodeAs('device', cpuProfile),
  sheet: decodeAs('device', deviceSheet)
} as const

/** A device from what JSON holds, or words on the first place that is wrong. */
export const decodeDeviceFile = (value: unknown): E.Either<string, DeviceFile> => decoders[deviceFileKind(value)](value)

/**
 * Makes the model of a described device. A sheet's has plain layouts, no scratch, as the reference
 * device, and the roofline's times at the sheet's rates; a recorded GPU's answers as the GPU did.
 */
export const fileModel = (file: DescribedDevice, precision: 'float32' | 'float64', threads = 1): DeviceModel =>
  isRecorded(file)
    ? makeRecordedModel(file, threads)
    : {
        ...referenceModel(precision),
        name: file.name,
        milliseconds: (kernel) => roofline(kernel, elementSizes(precision), { ...file, flopsPerSecond: file.flopsPerSecond[precision] }),
        linkBytesPerSecond: file.linkBytesPerSecond
      }
