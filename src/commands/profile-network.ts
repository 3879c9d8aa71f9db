import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { type MeasuredNetwork, type NetworkRates, fitNetwork } from '../../staging'
import { type Failure, type Outcome, inputFailure } from '../failure'
import { networkPath, writeNetwork } from '../plans/network-cache'
import { joinRanks } from '../ranks/join'
import { measureNetwork } from '../ranks/measure-network'
import { type Ranks, agreeAfter } from '../ranks/ranks'

/** A network that was measured between ranks, its rates, and where it is kept. */
export interface NetworkReport extends MeasuredNetwork, Pick<NetworkRates, 'bytesPerSecond' | 'latencySeconds'> {
  readonly path: string
}

const alone = '--network measures between the processes that mpirun starts, and this one is alone: start it with mpirun -n 2'

const noRates = inputFailure('larger messages took no longer than small ones: measure again when less else uses the network')

/** Where other work makes small messages wait longer than large ones take, it measures again. */
const measureRates = (ranks: Ranks, tries = 3): Outcome<{ readonly measured: MeasuredNetwork; readonly rates: NetworkRates }> =>
  pipe(
    measureNetwork(ranks),
    TE.chain((measured) => {
      const rates = E.fromNullable(noRates)(fitNetwork(measured))
      return E.isLeft(rates) && tries > 1
        ? measureRates(ranks, tries - 1)
        : TE.fromEither(E.map((found: NetworkRates) => ({ measured, rates: found }))(rates))
    })
  )

/** Measures the network between ranks that are given; the first keeps it for later plans. */
export const profileNetworkAmong = (ranks: Ranks): Outcome<NetworkReport> =>
  ranks.size === 1
    ? TE.left(inputFailure(alone))
    : pipe(
        // No message takes as long as ranks wait beside what is predicted.
        measureRates(ranks),
        ranks.whileExpecting(0),
        TE.chainFirst(({ measured }) => agreeAfter(ranks)(ranks.rank === 0 ? writeNetwork(measured) : TE.right(undefined))),
        TE.map(({ measured, rates: { bytesPerSecond, latencySeconds } }) => ({
          ...measured,
          bytesPerSecond,
          latencySeconds,
          path: networkPath()
        }))
      )

/** Measures the network between the ranks that a launcher started. */
export const profileNetwork = (): Outcome<NetworkReport> =>
  pipe(
    TE.fromEither(joinRanks()),
    TE.chainEitherK((ranks): E.Either<Failure, Ranks> => (ranks === undefined ? E.left(inputFailure(alone)) : E.right(ranks))),
    TE.chain(profileNetworkAmong)
  )
