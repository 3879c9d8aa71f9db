import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import { openNetwork } from '../../native'
import { type Failure, deviceFailure, inputFailure } from '../failure'
import { type Launcher, findLauncher } from './launcher'
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

const join = (): E.Either<Failure, Ranks | undefined> =>
  pipe(
    findLauncher(process.env),
    E.chain((launcher) =>
      launcher === undefined
        ? E.right(undefined)
        : pipe(
            openNetwork({ kind: launcher.kind, path: process.env['TILEFOLD_MPI_PATH'] ?? '' }),
            E.bimap((error) => ({ ...deviceFailure(error), code: 'input' as const }), createRanks),
            E.chain((ranks) => checkSize(launcher, ranks)),
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
