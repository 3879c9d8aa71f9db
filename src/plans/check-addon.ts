import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { versions } from '../../native'
import { type Outcome, deviceFailure } from '../failure'
import { isDeviceName } from '../options/devices'
import type { SetupChoices } from './resolve-setup'

type Choice = Pick<SetupChoices, 'device'>

const checkAddon = (isNeeded: boolean): Outcome<void> =>
  isNeeded ? TE.fromEither(E.bimap(deviceFailure, () => undefined)(versions())) : TE.right(undefined)

/**
 * Fails with code `missing` where the addon cannot be loaded, which runs networks. The first thing
 * to ask: its package also brings what reads images, which would be missed otherwise. A device of a
 * file is refused for itself.
 */
export const checkAddonToRun = ({ device }: Choice): Outcome<void> => checkAddon(isDeviceName(device))

/**
 * Fails with code `missing` where the addon cannot be loaded, which knows the devices of this
 * machine; files of devices, and the reference device, are planned for without it.
 */
export const checkAddonToPlan = ({ device }: Choice): Outcome<void> => checkAddon(isDeviceName(device) && device !== 'reference')
