/** Trainings whose launcher kills their ranks within a step, after it was asked to stop. */
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { inSystems } from '../../in-systems'
import { compiledCommand } from '../compiled-command'
import { writeImages } from '../example-images'
import { hasLauncher, launch, ranksWith } from '../open-mpi'
import { temporaryFolder } from '../temporary-folder'

const folder = temporaryFolder()
const at = (name: string): string => join(folder, name)
const command = compiledCommand()

test.before(() => writeImages(at('images'), 6))

const linesOf = (path: string): readonly string[] => {
  try {
    return readFileSync(path, 'utf8').split('\n').filter(Boolean)
  } catch {
    return []
  }
}

// Open MPI kills two seconds after it was asked: the reference device's steps take far longer.
const inLongTests = hasLauncher && inSystems ? test : test.skip

inLongTests('a launcher that kills within a step leaves the state after the last finished one', async () => {
  const metrics = at('steps.jsonl')
  const files = ['--state', at('state'), '--state-every', '1000', '--metrics', metrics]
  const shape = ['--input', '2x3x1024x1024', '--accumulate', '8', '--device', 'reference', '--threads', '1']
  const training = [command.script, 'train', command.model, ...shape, '--data', at('images'), '--steps', '50', '--quiet', ...files]
  let done = 0
  const ended = await launch(2, training, (launcher) => {
    const stop = async (): Promise<void> => {
      while (linesOf(metrics).length < 2) await wait(20)
      // The copy comes after the line.
      await wait(1000)
      done = linesOf(metrics).length
      launcher.kill('SIGINT')
    }
    void stop()
  })
  for (let tries = 0; tries < 100 && ranksWith(at('state')).length > 0; tries += 1) await wait(100)
  const [first] = linesOf(metrics).map((line) => (JSON.parse(line) as { readonly milliseconds: number }).milliseconds)
  assert.is.not(ended.status, 0)
  assert.is(linesOf(metrics).length, done, `another step ended, so none was killed: they take ${first} ms`)
  const states = readdirSync(at('state')).filter((name) => name.endsWith('.safetensors'))
  assert.ok(states.includes(`step-${done}.safetensors`), `${states.join(', ')} after ${done} steps`)
})

test.run()
