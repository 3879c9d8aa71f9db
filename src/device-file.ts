import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import { type DeviceFile, decodeDeviceFile } from '../staging'
import { type Failure, inputFailure } from './failure'
import { readJson } from './read-file'

/** A device from a JSON file such as devices/v100-16gb.json. */
export const loadDevice = (path: string): E.Either<Failure, DeviceFile> =>
  pipe(
    readJson('device', path),
    E.chain((value) =>
      pipe(
        decodeDeviceFile(value),
        E.mapLeft((fault) => inputFailure(`the device ${path}: ${fault}; write it as devices/v100-16gb.json is written`))
      )
    )
  )
