/** Training on two ranks that Slurm's launcher starts, where a cluster answers. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { compiledCommand } from '../compiled-command'
import { writeImages } from '../example-images'
import { temporaryFolder } from '../temporary-folder'

const folder = temporaryFolder()
const at = (name: string): string => join(folder, name)

const run = (program: string, args: readonly string[]) => spawnSync(program, args, { encoding: 'utf8', timeout: 20_000 })
const starts = (plugin: string): boolean =>
  spawnSync('srun', ['--immediate=2', '-n', '2', `--mpi=${plugin}`, 'true'], { timeout: 5000 }).status === 0
const hasPmix = starts('pmix')
const hasNone = hasPmix || starts('none')
if (!hasPmix) console.log('tests of srun --mpi=pmix are skipped: no Slurm answers here with two tasks and PMIx')

test.before(() => writeImages(at('images'), 6))

const { model, script } = compiledCommand()
const trainOf = (save: string): readonly string[] => [
  ...[process.execPath, script, 'train', model, '--data', at('images'), '--accumulate', '4', '--threads', '1', '--steps', '3'],
  ...['--quiet', '--save', at(save)]
]

;(hasPmix ? test : test.skip)('srun --mpi=pmix trains to the same bytes as this process alone', () => {
  const [node, ...alone] = trainOf('alone.safetensors')
  assert.is(run(node!, alone).status, 0)
  const { status, stderr } = run('srun', ['-n', '2', '--mpi=pmix', ...trainOf('both.safetensors')])
  assert.is(status, 0, stderr)
  assert.ok(readFileSync(at('both.safetensors')).equals(readFileSync(at('alone.safetensors'))))
})

;(hasNone ? test : test.skip)('srun without a plugin is refused, and told which it wants', () => {
  const { status, stderr } = run('srun', ['-n', '2', '--mpi=none', ...trainOf('none.safetensors')])
  assert.is(status, 2, stderr)
  assert.match(stderr, /srun started 2 processes that do not know of each other: give srun --mpi=pmix for Open MPI/)
})

test.run()
