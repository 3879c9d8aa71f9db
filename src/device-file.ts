import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import { type DeviceFile, decodeDeviceFile } from '../staging'
import { type Failure, inputFailure } from './failure'
import { readJson } from './read-file'

const decoded = (named: string, value: unknown): E.Either<Failure, DeviceFile> =>
  pipe(
    decodeDeviceFile(value),
    E.mapLeft((fault) => {
      const isRecording = typeof value === 'object' && value !== null && 'recorded' in value
      const remedy = isRecording
        ? 'record it again on its GPU, with tilefold profile --device cuda --out'
        : 'write it as devices/v100-16gb.json is written'
      return inputFailure(`${named}: ${fault}; ${remedy}`)
    })
  )

/** A device from a JSON file such as devices/v100-16gb.json, or one that JavaScript and casts may have got past the compiler. */
export const loadDevice = (device: DeviceFile | string): E.Either<Failure, DeviceFile> =>
  typeof device === 'string'
    ? pipe(
        readJson('device', device),
        E.chain((value) => decoded(`the device ${device}`, value))
      )
    : decoded('the device', device)
