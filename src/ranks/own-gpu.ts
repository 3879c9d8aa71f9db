import { readdirSync } from 'node:fs'
import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import { type Failure, inputFailure } from '../failure'
import type { Environment } from './launcher'

/** Of Open MPI, of MPICH and its kin, and of SLURM. */
const names = ['OMPI_COMM_WORLD_LOCAL_RANK', 'MPI_LOCALRANKID', 'SLURM_LOCALID'] as const

/** This process's number among those of its machine, counted from 0; undefined where none says. */
const localRank = (environment: Environment): number | undefined => {
  const told = names.map((name) => environment[name]).find((text) => text !== undefined && /^\d+$/.test(text))
  return told === undefined ? undefined : Number(told)
}

/** GPUs that NVIDIA's driver lists; undefined where it lists none. */
const countGpus = (): number | undefined => {
  try {
    return readdirSync('/proc/driver/nvidia/gpus').length || undefined
  } catch {
    return undefined
  }
}

/** What ranks of one machine know of its GPUs. */
export interface KnownGpus {
  /** Of the machine; undefined where they cannot be counted. */
  readonly gpus: number | undefined
  /** Whether several ranks may have the same. */
  readonly mayShare: boolean
}

/**
 * The GPU that this rank is to have of those that its machine shows, as CUDA_VISIBLE_DEVICES names
 * it: the one of its number among the machine's ranks. Undefined where the launcher does not say
 * that number, and a rank is left what it sees; where each rank is shown one GPU, the launcher has
 * chosen. Fails where ranks of a machine are more than its GPUs, and may not share them.
 */
export const ownGpu = (environment: Environment, { gpus, mayShare }: KnownGpus): E.Either<Failure, string | undefined> => {
  const local = localRank(environment)
  if (local === undefined) return E.right(undefined)
  const visible = environment['CUDA_VISIBLE_DEVICES']?.split(',')
  const shown = visible?.filter((name) => name !== '') ?? []
  // To CUDA, an empty list shows none.
  if (visible !== undefined && shown.length === 0) return E.right(undefined)
  if (shown.length === 1) return E.right(shown[0])
  const count = shown.length > 0 ? shown.length : (gpus ?? Infinity)
  if (local < count || mayShare) return E.right(shown[local % count] ?? String(local % count))
  const has = count === 1 ? 'one GPU' : `${count} GPUs`
  return E.left(
    inputFailure(
      `this machine has ${has}, but ${local + 1} ranks or more: start at most one for each GPU, or set TILEFOLD_NCCL_PATH to none to share GPUs and exchange through the host, which is slower`
    )
  )
}

/**
 * Shows this process its own GPU alone, before anything asks for one. Fails where it has none:
 * ranks of a training share GPUs only where they exchange through the host.
 */
export const claimGpu = (mayShare = process.env['TILEFOLD_NCCL_PATH'] === 'none'): E.Either<Failure, void> =>
  pipe(
    ownGpu(process.env, { gpus: countGpus(), mayShare }),
    E.map((gpu) => {
      if (gpu !== undefined) process.env['CUDA_VISIBLE_DEVICES'] = gpu
    })
  )
