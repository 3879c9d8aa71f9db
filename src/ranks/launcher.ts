import { fstatSync } from 'node:fs'
import * as E from 'fp-ts/Either'
import type { MpiKind } from '../../native'
import { type Failure, inputFailure } from '../failure'

/** The program that started this process among others. */
export interface Launcher {
  readonly kind: MpiKind
  /** Whose library it needs, in words. */
  readonly library: string
  readonly rank: number
  /** Processes that it started; undefined where it does not say. */
  readonly size: number | undefined
  /** What to give srun for the other MPI, where srun is the launcher. */
  readonly otherwise?: string
}

/** Environment variables of a process; undefined those that are not set. */
export type Environment = Readonly<Record<string, string | undefined>>

const whole = (text: string | undefined): number | undefined => (text !== undefined && /^\d+$/.test(text) ? Number(text) : undefined)

// A number that npx closed may be any file of Node's own, which are no sockets.
const isSocket = (descriptor: number): boolean => {
  try {
    return fstatSync(descriptor).isSocket()
  } catch {
    return false
  }
}

/**
 * Finds the launcher of MPI in the variables that it sets: mpirun of Open MPI or of MPICH and its
 * kin, or srun with a plugin for one of them; undefined where there is none, and MPI is not
 * touched. Fails where processes were started that cannot know of each other.
 */
export const findLauncher = (environment: Environment): E.Either<Failure, Launcher | undefined> => {
  const read = (name: string): number | undefined => whole(environment[name])
  const [openSize, openRank] = [read('OMPI_COMM_WORLD_SIZE'), read('OMPI_COMM_WORLD_RANK')]
  if (openSize !== undefined && openRank !== undefined)
    return E.right({ kind: 'open-mpi', library: 'Open MPI', rank: openRank, size: openSize })
  // srun passes on what the shell has of another step: its own kind tells which of both is new.
  const plugin = environment['SLURM_MPI_TYPE'] ?? ''
  const [pmiRank, pmixRank] = plugin === 'none' ? [] : [read('PMI_RANK'), read('PMIX_RANK')]
  const [tasks, descriptor] = [read('SLURM_STEP_NUM_TASKS'), read('PMI_FD')]
  const isClosed = descriptor !== undefined && !isSocket(descriptor)
  const isLeftOver = isClosed && pmixRank !== undefined && plugin.startsWith('pmix')
  if (pmiRank !== undefined && !isLeftOver) {
    if (isClosed)
      return E.left(
        inputFailure(
          `the launcher's connection (PMI_FD ${descriptor}) is closed, as npx does with it: start node_modules/.bin/tilefold in place of npx tilefold`
        )
      )
    const otherwise = plugin === 'pmi2' ? { otherwise: 'give srun --mpi=pmix for Open MPI' } : {}
    return E.right({ kind: 'mpich', library: 'MPICH', rank: pmiRank, size: read('PMI_SIZE'), ...otherwise })
  }
  if (pmixRank !== undefined) {
    const otherwise = plugin.startsWith('pmix') ? { otherwise: 'give srun --mpi=pmi2 for MPICH' } : {}
    return E.right({ kind: 'open-mpi', library: 'Open MPI', rank: pmixRank, size: tasks, ...otherwise })
  }
  if (environment['SLURM_PROCID'] !== undefined && tasks !== undefined && tasks > 1)
    return E.left(
      inputFailure(
        `srun started ${tasks} processes that do not know of each other: give srun --mpi=pmix for Open MPI, or --mpi=pmi2 for MPICH`
      )
    )
  return E.right(undefined)
}

/** This process's number among those that were started with it; 0 where it is alone. */
export const launchedRank = (environment: Environment): number => {
  const found = findLauncher(environment)
  return E.isRight(found) ? (found.right?.rank ?? 0) : (whole(environment['PMI_RANK'] ?? environment['SLURM_PROCID']) ?? 0)
}
