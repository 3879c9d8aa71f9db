import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import { openNetwork } from '../../native'
import { type Failure, deviceFailure, inputFailure } from '../failure'
import { type Environment, type Launcher, findLauncher } from './launcher'
import { type Ranks, createRanks } from './ranks'

/** Refuses a library that does not know of the processes that the launcher started. */
const checkSize = ({ library, size }: Launcher, ranks: Ranks): E.Either<Failure, Ranks> => {
  if (size === undefined || size === ranks.size) return E.right(ranks)
  ranks.leave(0)
  return E.left(
    inputFailure(
      `the launcher started ${size} processes, but ${library}'s library knows of ${ranks.size}: set TILEFOLD_MPI_PATH to the library of the launcher's MPI`
    )
  )
}

/** Says too which option of srun fits the other MPI, where the launcher's library does not do. */
const withOtherwise =
  ({ otherwise }: Launcher) =>
  (failure: Failure): Failure =>
    otherwise === undefined ? failure : { ...failure, message: `${failure.message}, or ${otherwise}` }

/**
 * Reads the most milliseconds that ranks wait for one another; undefined where nothing says it.
 */
const readMostWait = ({ TILEFOLD_RANK_TIMEOUT: seconds }: Environment): E.Either<Failure, number | undefined> => {
  if (seconds === undefined || seconds === '') return E.right(undefined)
  return /^\d{1,9}$/.test(seconds)
    ? E.right(1000 * Number(seconds))
    : E.left(
        inputFailure(`TILEFOLD_RANK_TIMEOUT is ${seconds}: give the seconds that ranks wait for one that hangs, or 0 to wait for ever`)
      )
}

const join = (): E.Either<Failure, Ranks | undefined> =>
  pipe(
    findLauncher(process.env),
    E.chain((launcher) =>
      launcher === undefined
        ? E.right(undefined)
        : pipe(
            readMostWait(process.env),
            E.chain((mostWait) =>
              pipe(
                openNetwork({ kind: launcher.kind, path: process.env['TILEFOLD_MPI_PATH'] ?? '' }),
                E.bimap(
                  (error): Failure => ({ ...deviceFailure(error), code: 'input' }),
                  (network) => createRanks(network, mostWait)
                ),
                E.chain((ranks) => checkSize(launcher, ranks)),
                E.mapLeft(withOtherwise(launcher))
              )
            ),
            E.map((ranks) => {
              // Whatever ends this process: with another status than 0 it ends the others too.
              process.once('exit', ranks.leave)
              return ranks
            })
          )
    )
  )

let joined: E.Either<Failure, Ranks | undefined> | undefined

/**
 * The ranks that a launcher of MPI started with this process, once all are there; undefined where
 * there is no launcher, and MPI is not touched. Found once a process.
 */
export const joinRanks = (): E.Either<Failure, Ranks | undefined> => (joined ??= join())
