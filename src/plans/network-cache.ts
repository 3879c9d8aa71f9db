import { join } from 'node:path'
import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import { type MeasuredNetwork, type NetworkRates, fitNetwork, measuredNetwork } from '../../staging'
import type { Failure, Outcome } from '../failure'
import { cacheFolder } from '../files/cache-folder'
import { measurementFailure, readMeasurement, writeMeasurement } from './kept-measurements'

const kept = { codec: measuredNetwork, name: 'a measured network', command: 'tilefold profile --network' }

/** The path of the file of this user's measured network. */
export const networkPath = (): string => join(cacheFolder(), 'network.json')

/** The rates of what was measured; a failure where larger messages took no longer. */
export const computeRates = (measured: MeasuredNetwork): E.Either<Failure, NetworkRates> =>
  E.fromNullable(measurementFailure(networkPath(), 'larger messages took no longer than small ones', kept))(fitNetwork(measured))

/**
 * The network between ranks that was measured from this machine last; undefined where none was. A
 * damaged file is a failure.
 */
export const readNetwork = (): E.Either<Failure, NetworkRates | undefined> =>
  pipe(
    readMeasurement(networkPath(), kept),
    E.chain((found) => (found === undefined ? E.right(undefined) : computeRates(found)))
  )

/** Keeps what was measured of the network between ranks, in place of what was kept before. */
export const writeNetwork = (measured: MeasuredNetwork): Outcome<void> => writeMeasurement(networkPath(), measured)
