import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { temporaryFolder } from '../src/temporary-folder'

/** Builds a library of MPI 5.0's interface in which this process is rank 0 of two; its path. */
export const buildStandardMpi = (name = 'libmpi_abi.so.1'): string => {
  const path = join(temporaryFolder(), name)
  const args = ['-shared', '-fPIC', '-std=c++17', join(__dirname, 'standard_mpi.cpp'), '-o', path]
  const { status, stderr } = spawnSync(process.env['CXX'] ?? 'c++', args, { encoding: 'utf8' })
  assert.is(status, 0, stderr)
  return path
}
