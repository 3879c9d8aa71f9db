/**
 * kill -9 at any moment: training goes on from its states to the same bits, and no file is ever
 * damaged.
 */
import { existsSync, mkdirSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { randomStream } from '../../../src/numbers/random'
import { openTensorFile } from '../../../src/weights/safetensors'
import { readState } from '../../../src/training/state/state'
import { type Ended, runScript } from '../command-line'
import { compiledCommand } from '../compiled-command'
import { inSystems } from '../../in-systems'
import { writeImages } from '../example-images'
import { valueOf } from '../outcome'
import { temporaryFolder } from '../temporary-folder'

const [kills, lanes, steps, stateEvery] = [inSystems ? 100 : 15, 2, 600, 3]
/** Kills come at most so long after a process was started, or after its first step. */
const mostMilliseconds = { start: 600, 'first step': 150 } as const

const folder = temporaryFolder()
const { script, model } = compiledCommand()
const images = join(folder, 'images')

interface Kill {
  readonly after: keyof typeof mostMilliseconds
  readonly milliseconds: number
}

/** Whether a process told of a step in what it wrote. */
const tellsStep = (text: string): boolean => /^step /m.test(text)

const run = (args: readonly string[], kill?: Kill): Promise<Ended> =>
  runScript(args, (child) => {
    const killLater = (): unknown => kill && setTimeout(() => child.kill('SIGKILL'), kill.milliseconds)
    if (kill?.after === 'start') killLater()
    else child.stderr?.on('data', (text: string) => tellsStep(text) && killLater())
  })

const training = (place: string): readonly string[] => [
  ...[script, 'train', model, '--data', images, '--device', 'reference', '--threads', '1', '--seed', '4'],
  ...['--lr', '0.05', '--flip', '--optimizer', 'adam', '--steps', `${steps}`, '--json', '--resume', '--state-every', `${stateEvery}`],
  ...['--validation', '0.34', '--validate-every', '7', '--best', join(place, 'best.safetensors'), '--best-by', 'loss'],
  ...['--state', join(place, 'state'), '--metrics', join(place, 'metrics.jsonl'), '--save', join(place, 'weights.safetensors')]
]

const newLife = (name: string): string => {
  const place = join(folder, name)
  mkdirSync(place)
  return place
}

/** Steps of the whole lines of a metrics file. */
const measuredSteps = (place: string): readonly number[] => {
  const path = join(place, 'metrics.jsonl')
  const lines = existsSync(path) ? readFileSync(path, 'utf8').split('\n').slice(0, -1) : []
  const parsed = lines.map((line) => JSON.parse(line) as { readonly step: number; readonly validation?: object })
  return parsed.filter((line) => line.validation === undefined).map(({ step }) => step)
}

/**
 * Every file is whole, and so is every state in the folder; the newest lies back no further than
 * the last one that was due.
 */
const checkStates = async (place: string): Promise<void> => {
  const state = join(place, 'state')
  const files = (existsSync(state) ? readdirSync(state) : []).filter((name) => name.endsWith('.safetensors'))
  const found = await Promise.all(files.map((name) => valueOf(readState(join(state, name)))))
  const best = join(place, 'best.safetensors')
  if (existsSync(best)) await valueOf(openTensorFile(best))
  const newest = Math.max(0, ...found.map(({ record }) => record.loss.length))
  const measured = measuredSteps(place)
  assert.equal(
    measured,
    Array.from(measured.keys(), (index) => index + 1)
  )
  const due = stateEvery * Math.floor(Math.max(0, measured.length - 1) / stateEvery)
  assert.ok(newest >= due, `${measured.length} steps were measured but the newest state is of step ${newest}`)
}

test.before(() => writeImages(images))

test(`${kills} kills at random moments: the same bits as undisturbed, no file damaged`, async () => {
  const undisturbed = newLife('undisturbed')
  const { status, stdout, stderr } = await run(training(undisturbed))
  assert.is(status, 0, stderr)
  const tensorsOf = (place: string): readonly Buffer[] =>
    ['weights', 'best'].map((name) => readFileSync(join(place, `${name}.safetensors`)))
  const [tensors, { loss, validations }] = [tensorsOf(undisturbed), JSON.parse(stdout)]
  let [killed, finished, lives, inSteps] = [0, 0, 0, 0]
  const seed = Number(process.env['TILEFOLD_TEST_SEED'] ?? Date.now())
  console.log(`kill moments of seed ${seed}`)
  const moments = randomStream(seed, 'kills')

  const survive = async (): Promise<void> => {
    let place = newLife(`life-${(lives += 1)}`)
    while (killed < kills || finished < lanes) {
      const last = killed >= kills
      if (!last) killed += 1
      const after = killed % 2 === 0 ? 'start' : 'first step'
      const kill = { after, milliseconds: mostMilliseconds[after] * moments.uniform(killed) } as const
      const ended = await run(training(place), last ? undefined : kill)
      await checkStates(place)
      if (ended.status === null) {
        if (tellsStep(ended.stderr)) inSteps += 1
        continue
      }
      assert.is(ended.status, 0, ended.stderr)
      // It had ended before it could be killed.
      if (!last) killed -= 1
      assert.equal(tensorsOf(place), tensors)
      const report = JSON.parse(ended.stdout)
      assert.equal([report.loss, report.validations], [loss, validations])
      assert.equal(measuredSteps(place).length, steps)
      assert.equal(readdirSync(join(place, 'state')).sort(), [`step-${steps - stateEvery}.safetensors`, `step-${steps}.safetensors`])
      finished += 1
      if (last) return
      place = newLife(`life-${(lives += 1)}`)
    }
  }

  await Promise.all(Array.from({ length: lanes }, survive))
  assert.is(killed, kills)
  console.log(`${kills} kills, ${inSteps} of them after a step, ${finished} trainings finished`)
  assert.ok(inSteps > kills / 5)
})

test.run()
