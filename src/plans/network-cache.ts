import { join } from 'node:path'
import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import { type MeasuredNetwork, type NetworkRates, fitNetwork, measuredNetwork } from '../../staging'
import type { Outcome } from '../failure'
import { cacheFolder } from '../files/cache-folder'
import { readMeasurement, unlessUnusable, unusable, writeMeasurement } from './kept-measurements'
import type { Watching } from './watching'

const kept = {
  codec: measuredNetwork,
  name: 'a measured network',
  without: 'usual rates are taken until tilefold profile --network measures it anew'
}

/** The path of the file of this user's measured network. */
export const networkPath = (): string => join(cacheFolder(), 'network.json')

/**
 * The network between ranks that was measured from this machine last; undefined where none was, and
 * where its file is damaged, which is told.
 */
export const readNetwork = (watching: Watching = {}): NetworkRates | undefined => {
  const found = pipe(
    readMeasurement(networkPath(), kept),
    E.chain((found): E.Either<string, NetworkRates | undefined> =>
      found === undefined
        ? E.right(undefined)
        : E.fromNullable(unusable(networkPath(), 'larger messages took no longer than small ones', kept))(fitNetwork(found))
    )
  )
  return unlessUnusable(found, watching)
}

/** Keeps what was measured of the network between ranks, in place of what was kept before. */
export const writeNetwork = (measured: MeasuredNetwork): Outcome<void> => writeMeasurement(networkPath(), measured)
