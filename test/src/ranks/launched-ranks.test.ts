/** Training on ranks that Open MPI's launcher starts, where there is one. */
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { compiledCommand } from '../compiled-command'
import { writeImages } from '../example-images'
import { launch, newestStep, ranksWith, withLauncher } from '../open-mpi'
import { assertCloseLosses } from './rank-trainings'
import { addonFile } from '../../../native/addon/addon-file'
import { must } from '../../must'
import { temporaryFolder } from '../temporary-folder'

const folder = temporaryFolder()
const at = (name: string): string => join(folder, name)

test.before(() => writeImages(at('images'), 6))

const command = compiledCommand()
const trainOf = (...more: readonly string[]): readonly string[] => [
  ...[command.script, 'train', command.model, '--data', at('images'), '--accumulate', '4', '--threads', '1', '--quiet', '--json'],
  ...more
]

/** Waits until a state of a step or a later one is there, for a minute at most: older ones go. */
const reaches = async (state: string, step: number): Promise<void> => {
  for (let tries = 0; newestStep(state) < step; tries += 1) {
    if (tries > 600) throw new Error(`${state} has no state of step ${step} or later`)
    await wait(100)
  }
}

withLauncher('mpirun trains to the same bytes as this process alone, and one rank answers', async () => {
  const weights = async (size: number): Promise<Buffer> => {
    const save = at(`launched-${size}.safetensors`)
    const { status, stdout, stderr } = await launch(size, trainOf('--steps', '3', '--save', save))
    assert.is(status, 0, stderr)
    assert.is(JSON.parse(stdout).steps, 3)
    return readFileSync(save)
  }
  const one = await weights(1)
  assert.ok((await weights(2)).equals(one))
  const alone = spawnSync(process.execPath, trainOf('--steps', '3', '--save', at('alone.safetensors')), { encoding: 'utf8' })
  assert.is(alone.status, 0, alone.stderr)
  // Where nothing is tiled, an update without ranks adds the same micro-batches in the same order.
  assert.ok(readFileSync(at('alone.safetensors')).equals(one))
})

withLauncher('mpirun trains on shared rows as this process does on whole images', async () => {
  const more = ['--steps', '3', '--device', 'reference', '--budget', '70%', '--network', '1000GB/s,1ns']
  const alone = spawnSync(process.execPath, trainOf(...more), { encoding: 'utf8' })
  assert.is(alone.status, 0, alone.stderr)
  const { status, stdout, stderr } = await launch(2, trainOf(...more, '--shard-rows'))
  assert.is(status, 0, stderr)
  assertCloseLosses(JSON.parse(stdout).loss, JSON.parse(alone.stdout).loss)
})

withLauncher('mpirun trains on groups of ranks that share rows to the same bytes as on one group', async () => {
  const more = ['--steps', '3', '--network', '1000GB/s,1ns']
  const weights = async (size: number): Promise<Buffer> => {
    const save = at(`groups-${size}.safetensors`)
    const { status, stdout, stderr } = await launch(size, trainOf(...more, '--shard-rows', '2', '--save', save))
    assert.is(status, 0, stderr)
    assert.is(JSON.parse(stdout).steps, 3)
    return readFileSync(save)
  }
  const one = await weights(2)
  assert.ok((await weights(4)).equals(one))
})

withLauncher('under mpirun all ranks end with what one of them fails with, said once', async () => {
  const refused = await launch(3, trainOf('--steps', '2'))
  assert.is(refused.status, 2, refused.stderr)
  assert.is(refused.stderr.split('\n').filter((line) => line.startsWith('3 ranks share the micro-batches')).length, 1, refused.stderr)
  assert.is(JSON.parse(refused.stdout).error.code, 'input')
})

withLauncher('a rank that is killed ends all within seconds, and its training goes on from the last state', async () => {
  const state = at('killed')
  let killed = 0
  const ended = await launch(2, trainOf('--steps', '100000', '--state', state, '--state-every', '2'), () => {
    void reaches(state, 4).then(() => {
      killed = performance.now()
      process.kill(ranksWith(state).at(-1)!, 'SIGKILL')
    })
  })
  assert.is.not(ended.status, 0)
  assert.ok(performance.now() - killed < 20_000)
  // On a busy machine a process ends a moment after the launcher, which has killed it.
  for (let tries = 0; tries < 100 && ranksWith(state).length > 0; tries += 1) await wait(100)
  assert.equal(ranksWith(state), [])
  const steps = newestStep(state)
  const again = await launch(1, trainOf('--steps', `${steps + 2}`, '--state', state, '--resume'))
  assert.is(again.status, 0, again.stderr)
  assert.is(JSON.parse(again.stdout).steps, steps + 2)
})

withLauncher('a rank that hangs ends all within seconds, and is named', async () => {
  const state = at('hanging')
  let hangs = 0
  const ended = await launch(
    4,
    trainOf('--steps', '100000', '--state', state, '--state-every', '2'),
    () => {
      void reaches(state, 4).then(() => {
        hangs = performance.now()
        process.kill(ranksWith(state)[1]!, 'SIGSTOP')
      })
    },
    { TILEFOLD_RANK_TIMEOUT: '3' }
  )
  assert.is(ended.status, 1, ended.stderr)
  const said = `${ended.stdout}${ended.stderr}`
  // On a busy machine the wait for one rank may end while another one has not begun its own.
  assert.match(said, /rank [0-3]( hangs|.* hang): the others have waited for more than 3 seconds/, said)
  assert.ok(performance.now() - hangs < 20_000)
  // A process that is stopped ends a moment after the launcher, which has killed it.
  for (let tries = 0; tries < 100 && ranksWith(state).length > 0; tries += 1) await new Promise((resolve) => setTimeout(resolve, 100))
  assert.equal(ranksWith(state), [])
})

withLauncher('ranks with another build of the addon say so before they plan', async () => {
  // A byte behind an ELF file's end changes nothing of what it does.
  writeFileSync(at('other.node'), Buffer.concat([readFileSync(must(addonFile())), Buffer.of(0)]))
  const start = at('start.js')
  writeFileSync(
    start,
    `if (process.env.OMPI_COMM_WORLD_RANK === '1') process.env.TILEFOLD_ADDON = ${JSON.stringify(at('other.node'))}
process.argv[1] = ${JSON.stringify(command.script)}
require('node:module').runMain()
`
  )
  const { status, stdout, stderr } = await launch(2, [start, ...trainOf('--steps', '1').slice(1)])
  assert.is(status, 2, stderr)
  assert.match(
    JSON.parse(stdout).error.message,
    /^rank 1 has addon of hash \w{12} where rank 0 has \w{12}: start all ranks with the same options, data and build\.$/
  )
})

withLauncher('of a command that ranks do not share the first alone answers', async () => {
  const plan = [command.script, 'plan', command.model, '--threads', '1', '--no-measure', '--json']
  const { status, stdout, stderr } = await launch(2, plan)
  assert.is(status, 0, stderr)
  assert.is(JSON.parse(stdout).strategy, 'auto')
})

withLauncher("of a model's kernels, which ranks would measure at once, the first measures and answers alone", async () => {
  const profile = [command.script, 'profile', command.tinyModel, '--threads', '1', '--json']
  const { status, stdout, stderr } = await launch(2, profile, undefined, { XDG_CACHE_HOME: at('cache') })
  assert.is(status, 0, stderr)
  assert.ok(JSON.parse(stdout).measured > 0)
})

withLauncher('a time that ranks are to wait must be one', async () => {
  const ended = await launch(1, trainOf('--steps', '1'), undefined, { TILEFOLD_RANK_TIMEOUT: 'soon' })
  assert.is(ended.status, 2, ended.stderr)
  assert.match(ended.stderr, /TILEFOLD_RANK_TIMEOUT is soon: give the seconds that ranks wait for one that hangs/)
})

for (const sent of ['SIGTERM', 'SIGHUP'] as const)
  withLauncher(`${sent} to one rank ends all after the same step, with a state`, async () => {
    const state = at(sent)
    const { status, stdout, stderr } = await launch(2, trainOf('--steps', '100000', '--state', state, '--state-every', '3'), () => {
      void reaches(state, 3).then(() => process.kill(ranksWith(state).at(-1)!, sent))
    })
    assert.is(status, 130, stderr)
    const { message } = JSON.parse(stdout).error
    const [, done] = /^interrupted after (\d+) of 100000 steps; .* holds the state after step \1\.$/.exec(message) ?? []
    assert.ok(done !== undefined, message)
    assert.ok(existsSync(join(state, `step-${done}.safetensors`)))
  })

test.run()
