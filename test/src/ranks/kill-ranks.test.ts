/** Trainings on ranks of Open MPI of which one or the other is killed at random moments. */
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { randomStream } from '../../../src/numbers/random'
import { inSystems } from '../../in-systems'
import { compiledCommand } from '../compiled-command'
import { writeImages } from '../example-images'
import { launch, newestStep, ranksWith, withLauncher } from '../open-mpi'
import { temporaryFolder } from '../temporary-folder'

const kills = inSystems ? 25 : 1

/** Milliseconds within which a rank is killed: after its start, and after the first new state. */
const mostMilliseconds = [3000, 300]

const folder = temporaryFolder()
const at = (name: string): string => join(folder, name)
const command = compiledCommand()

test.before(() => writeImages(at('images'), 6))

/** Waits until a training has a later state than one, or for ten seconds. */
const reachesNew = async (place: string, step: number): Promise<void> => {
  for (let tries = 0; tries < 400 && newestStep(join(place, 'state')) <= step; tries += 1) await wait(25)
}

const inRows = ['--device', 'reference', '--network', '1000GB/s,1ns']
const ways: readonly (readonly [what: string, ranks: number, more: readonly string[]])[] = [
  ['micro-batches', 2, ['--accumulate', '2']],
  ['rows', 2, ['--shard-rows', ...inRows]],
  // The longest ones.
  ...(inSystems
    ? ([
        ['rows and micro-batches', 4, ['--shard-rows', '2', '--accumulate', '2', ...inRows]],
        ['slices of the optimizer state', 2, ['--accumulate', '2', '--optimizer', 'adam', '--shard-optimizer']]
      ] as const)
    : [])
]

for (const [what, ranks, more] of ways) {
  const training = (place: string): readonly string[] => {
    const files = ['--state', join(place, 'state'), '--state-every', '3', '--resume', '--save', join(place, 'weights.safetensors')]
    const steps = ['--data', at('images'), '--steps', '400', '--threads', '1', '--quiet', '--json']
    return [command.script, 'train', command.model, ...steps, ...files, ...more]
  }

  withLauncher(`${kills} kills of ranks that share ${what}, at random moments: the same bits as undisturbed`, async () => {
    const newLife = (name: string): string => {
      const place = at(`${what}-${name}`)
      mkdirSync(place)
      return place
    }
    const weightsOf = (place: string): Buffer => readFileSync(join(place, 'weights.safetensors'))
    const undisturbed = newLife('undisturbed')
    const { status, stdout, stderr } = await launch(ranks, training(undisturbed))
    assert.is(status, 0, stderr)
    const { loss } = JSON.parse(stdout)
    const seed = Number(process.env['TILEFOLD_TEST_SEED'] ?? Date.now())
    console.log(`kill moments of seed ${seed}`)
    const moments = randomStream(seed, `kills of ${what}`)
    let [killed, lives, inSteps, tries] = [0, 0, 0, 0]
    let place = newLife('life-0')
    // Another moment at each try: at the same one a training that had ended would have ended again.
    for (let finished = false; !finished; tries += 1) {
      const isLast = killed >= kills
      const before = newestStep(join(place, 'state'))
      let hit = false
      // A kill that comes too late must not hit the life after this one.
      const here = place
      const kill = async (launcher: number | undefined): Promise<void> => {
        // Every other one while it starts.
        if (killed % 2 === 1) await reachesNew(here, before)
        await wait(mostMilliseconds[killed % 2]! * moments.uniform(2 * tries))
        // The launcher's own arguments have the place too.
        const rank = ranksWith(here).filter((id) => id !== launcher)[Math.floor(ranks * moments.uniform(2 * tries + 1))]
        if (rank === undefined) return
        process.kill(rank, 'SIGKILL')
        hit = true
      }
      const ended = await launch(ranks, training(place), ({ pid }) => void (isLast || void kill(pid)))
      // On a busy machine a process ends a moment after the launcher, which has killed it.
      for (let waits = 0; waits < 100 && ranksWith(place).length > 0; waits += 1) await wait(100)
      assert.equal(ranksWith(place), [])
      if (hit && ended.status !== 0) {
        killed += 1
        if (newestStep(join(place, 'state')) > before) inSteps += 1
        continue
      }
      assert.is(ended.status, 0, ended.stderr)
      assert.ok(weightsOf(place).equals(weightsOf(undisturbed)), `other bits after ${killed} kills`)
      assert.equal(JSON.parse(ended.stdout).loss, loss)
      finished = isLast
      // Where it had ended before it could be killed another one begins.
      if (!isLast) place = newLife(`life-${(lives += 1)}`)
    }
    console.log(`${killed} kills of ranks that share ${what}, ${inSteps} of them after new states`)
    assert.ok(!inSystems || inSteps > kills / 5)
  })
}

test.run()
