import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import { type DeviceFile, decodeDeviceFile, deviceFileKind } from '../../staging'
import { type Failure, inputFailure } from '../failure'
import { readJson } from '../files/read-file'
import { failureCodec } from '../options/codecs'

const remedies = {
  recorded: 'record it again on its GPU, with tilefold profile --device cuda --out',
  profile: 'measure it again on its machine, with tilefold profile (of cuda with --out)',
  sheet: 'write it as devices/v100-16gb.json is written'
} as const

/** What to do about a fault, unless it says by a question what was likely meant. */
const remedyOf = (fault: string, value: unknown): string => (fault.endsWith('?') ? '' : `; ${remedies[deviceFileKind(value)]}`)

const decodeNamed = (named: string, value: unknown): E.Either<Failure, DeviceFile> =>
  pipe(
    decodeDeviceFile(value),
    E.mapLeft((fault) => inputFailure(`${named}: ${fault}${remedyOf(fault, value)}`))
  )

/**
 * A device from a JSON file such as devices/v100-16gb.json or a profile of the cpu, or one that
 * JavaScript and casts may have got past the compiler.
 */
export const loadDevice = (device: DeviceFile | string): E.Either<Failure, DeviceFile> =>
  typeof device === 'string'
    ? pipe(
        readJson('device', device),
        E.chain((value) => decodeNamed(`the device ${device}`, value))
      )
    : decodeNamed('the device', device)

/** A device that JavaScript gives, or one that casts may have got past the compiler. */
export const deviceCodec = failureCodec('a device', (value) => loadDevice(value as DeviceFile))
