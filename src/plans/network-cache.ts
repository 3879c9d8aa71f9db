import { join } from 'node:path'
import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import { type MeasuredNetwork, type NetworkRates, fitNetwork, measuredNetwork } from '../../staging'
import type { Outcome } from '../failure'
import { cacheFolder } from '../files/cache-folder'
import { readMeasurement, unusable, writeMeasurement } from './kept-measurements'

const kept = {
  codec: measuredNetwork,
  name: 'a measured network',
  without: 'usual rates are taken until tilefold profile --network measures it anew'
}

/** The path of the file of this user's measured network. */
export const networkPath = (): string => join(cacheFolder(), 'network.json')

/**
 * The network between ranks that was measured from this machine last, undefined where none was; of
 * a damaged file a sentence.
 */
export const readNetwork = (): E.Either<string, NetworkRates | undefined> =>
  pipe(
    readMeasurement(networkPath(), kept),
    E.chain((found) =>
      found === undefined
        ? E.right(undefined)
        : E.fromNullable(unusable(networkPath(), 'larger messages took no longer than small ones', kept))(fitNetwork(found))
    )
  )

/** Keeps what was measured of the network between ranks, in place of what was kept before. */
export const writeNetwork = (measured: MeasuredNetwork): Outcome<void> => writeMeasurement(networkPath(), measured)
