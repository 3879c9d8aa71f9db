/** Libraries of MPI that do not fit the launcher; one that this builds takes the place of both. */
import { spawnSync } from 'node:child_process'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { buildStandardMpi } from '../../native/standard-mpi'
import { compiledCommand } from '../compiled-command'

const { script } = compiledCommand()

/** What a process says that a launcher has started, as it seems, with this library. */
const profileUnder = (launcher: Readonly<Record<string, string>>, library: string): string => {
  const env = { ...process.env, ...launcher, TILEFOLD_MPI_PATH: library }
  const { status, stderr } = spawnSync(process.execPath, [script, 'profile', '--network'], { encoding: 'utf8', env, timeout: 60_000 })
  assert.is(status, 2, stderr)
  return stderr
}

test('a library that knows of other processes than the launcher has started is refused', () => {
  const library = buildStandardMpi()
  const sentence =
    "the launcher started 3 processes, but MPICH's library knows of 2: set TILEFOLD_MPI_PATH to the library of the launcher's MPI"
  assert.is(profileUnder({ PMI_RANK: '0', PMI_SIZE: '3' }, library), `${sentence}.\n`)
  // Slurm's launcher may be told to start the other MPI instead.
  const slurm = { PMI_RANK: '0', PMI_SIZE: '3', SLURM_PROCID: '0', SLURM_STEP_NUM_TASKS: '3', SLURM_MPI_TYPE: 'pmi2' }
  assert.is(profileUnder(slurm, library), `${sentence}, or give srun --mpi=pmix for Open MPI.\n`)
})

test("a library of MPICH's is refused under Open MPI's launcher before it starts", () => {
  // It has all functions, but not the objects that are Open MPI's handles.
  const said = profileUnder({ OMPI_COMM_WORLD_SIZE: '2', OMPI_COMM_WORLD_RANK: '0' }, buildStandardMpi('libmpich.so.12'))
  assert.match(said, /libmpich\.so\.12 has no ompi_mpi_comm_world: set TILEFOLD_MPI_PATH to the library of the launcher's MPI/)
})

test.run()
