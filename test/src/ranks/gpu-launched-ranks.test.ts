/**
 * Training on two GPUs of this machine, of which each rank that a launcher starts has one, by NCCL;
 * on the emulated GPU, whose NCCL knows one process alone, through the host.
 */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { testsDevice } from '../../devices'
import { compiledCommand } from '../compiled-command'
import { writeImages } from '../example-images'
import { launch, withLauncher } from '../open-mpi'
import { temporaryFolder } from '../temporary-folder'

const isEmulated = (process.env['TILEFOLD_ADDON'] ?? '').includes('emulated_cuda')

/** As NVIDIA's driver lists them. */
const countGpus = (): number =>
  (spawnSync('nvidia-smi', ['-L'], { encoding: 'utf8' }).stdout ?? '').split('\n').filter((line) => line.startsWith('GPU ')).length

const gpus = isEmulated ? 2 : countGpus()
if (gpus < 2) console.log(`tests of ranks on GPUs are skipped: this machine has ${gpus} of 2`)
const onGpus = gpus >= 2 && testsDevice('cuda') ? withLauncher : test.skip

const folder = temporaryFolder()
const at = (name: string): string => join(folder, name)

test.before(() => writeImages(at('images'), 6))

const { model, script } = compiledCommand()

const throughHost = { TILEFOLD_NCCL_PATH: 'none' }

/** What so many ranks save. */
const train = async (ranks: number, more: readonly string[] = [], environment = isEmulated ? throughHost : {}): Promise<Buffer> => {
  const save = at(`${ranks}.safetensors`)
  const args = [script, 'train', model, '--data', at('images'), '--device', 'cuda', '--accumulate', '4', '--steps', '3', '--quiet']
  const { status, stderr } = await launch(ranks, [...args, ...more, '--save', save], undefined, environment)
  assert.is(status, 0, stderr)
  return readFileSync(save)
}

onGpus('two GPUs that share micro-batches train to the same bytes as one', async () => {
  assert.ok((await train(2)).equals(await train(1)))
})

onGpus('two GPUs that share rows train to the same bytes by NCCL as through the host', async () => {
  const more = ['--shard-rows', '--network', '1000GB/s,1ns']
  assert.ok((await train(2, more)).equals(await train(2, more, throughHost)))
})

test.run()
