/** What a training says of itself while it runs: on a terminal, in a log, and quietly. */
import { Writable } from 'node:stream'
import { isRight } from 'fp-ts/Either'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { train } from '../../../src'
import { referenceModel, stage, type Searched, type StageRequest } from '../../../staging'
import { throttleSearch } from '../../../src/plans/watching'
import { trainingPace } from '../../../src/cli/pace'
import { type ProgressStream, trainingProgress } from '../../../src/cli/progress'
import { remainingProgress } from '../../../src/cli/remaining-progress'
import { sparkline } from '../../../src/text/sparkline'
import type { StepReport } from '../../../src/training/step-report'
import { tilefold, smallModel } from '../command-line'
import { writeImages } from '../example-images'
import { valueOf } from '../outcome'
import smallNetwork from '../small-model'
import { temporaryFolder } from '../temporary-folder'

const folder = temporaryFolder()
test.before(() => writeImages(folder, 4))

/** What was written to a stream, of a terminal's kind where it has columns. */
const stream = (terminal?: {
  readonly columns: number
  readonly hasColors: () => boolean
}): ProgressStream & { readonly text: () => string } => {
  const parts: string[] = []
  const written = new Writable({ write: (part: Buffer, _, done) => (parts.push(part.toString()), done()) })
  return Object.assign(written, { text: () => parts.join('') }, terminal === undefined ? {} : { isTTY: true as const, ...terminal })
}

const report = (step: number, steps = 100): StepReport => ({
  ...{ step, steps, epoch: (step + 1) / 40, loss: 3 - step / 50, learningRate: 0.01, milliseconds: 500 },
  ...{ images: 2, pixels: 2 * 512 * 512, peakDeviceBytes: 3 * 2 ** 28 }
})

/** The lines that a terminal would show, the last state of each. */
const shown = (text: string): readonly string[] =>
  text.split('\n').map((line) =>
    line
      .split(/\r|\x1b\[1G/)
      .at(-1)!
      .replace(/\x1b\[[0-9?]*[a-zA-Z]/g, '')
  )

test('a terminal has one line that stays: place, loss and its course, pace, memory and what is left', () => {
  const terminal = stream({ columns: 140, hasColors: () => true })
  const progress = trainingProgress({ stream: terminal })
  for (let step = 0; step < 30; step += 1) progress.onStep(report(step))
  progress.say('validation after step 30')
  progress.onStep(report(30))
  progress.stop()
  const [said, bar] = shown(terminal.text()).slice(-3)
  assert.is(said, 'validation after step 30')
  assert.match(bar!, /^█+░+ step 31\/100 {2}epoch 0\.8 {2}loss 2\.4000 {2}█▇?.*▁ {2}\S+ images\/s {2}768 MiB {2}\S+ (s|ms|min) left/)
  assert.match(terminal.text(), /\x1b\[36m█/)
})

test('without colours there are none, and a narrow terminal has no room for the course', () => {
  const wide = stream({ columns: 140, hasColors: () => false })
  const narrow = stream({ columns: 80, hasColors: () => true })
  for (const terminal of [wide, narrow]) {
    const progress = trainingProgress({ stream: terminal })
    for (let step = 0; step < 10; step += 1) progress.onStep(report(step))
    progress.stop()
    assert.not.match(terminal.text(), /\x1b\[36m/)
  }
  assert.match(wide.text(), /▁/)
  assert.not.match(narrow.text(), /▁/)
})

test('a log has plain lines, the first and the last of them at once', () => {
  const log = stream()
  const progress = trainingProgress({ stream: log })
  for (let step = 0; step < 4; step += 1) progress.onStep(report(step, 4))
  progress.stop()
  const lines = log.text().trimEnd().split('\n')
  assert.is(lines.length, 2)
  assert.match(lines[0]!, /^step 1\/4 {2}epoch 0\.0 {2}loss 3\.0000 {2}4\.00 images\/s {2}768 MiB {2}2\.00 s left$/)
  assert.match(lines[1]!, /^step 4\/4 {2}epoch 0\.1 {2}loss 2\.9400 {2}\S+ images\/s {2}768 MiB$/)
  assert.not.match(log.text(), /\x1b/)
})

test('quietly, nothing is said but what must be seen', () => {
  const log = stream({ columns: 140, hasColors: () => true })
  const progress = trainingProgress({ stream: log, quiet: true })
  progress.onStep(report(0))
  progress.say('a file is damaged')
  progress.stop()
  assert.is(log.text(), 'a file is damaged\n')
})

test('the pace is by the clock, of the latest steps, and says what is left', () => {
  let now = 0
  const pace = trainingPace(() => now)
  const after = (milliseconds: number, step: number) => {
    now += milliseconds
    return pace(report(step))
  }
  assert.equal(after(7000, 0), { imagesPerSecond: 4, pixelsPerSecond: 4 * 512 * 512, secondsLeft: 49.5 })
  assert.equal(after(1500, 1), { imagesPerSecond: 2, pixelsPerSecond: 2 * 512 * 512, secondsLeft: 98 })
  for (let step = 2; step < 30; step += 1) after(250, step)
  assert.is(after(250, 30).imagesPerSecond, 8)
})

test('losses are bars between the lowest and the highest; what is not finite is a gap', () => {
  assert.is(sparkline([8, 7, 6, 5, 4, 3, 2, 1], 20), '█▇▆▅▄▃▂▁')
  assert.is(sparkline([9, 0, NaN, 7], 3), '▁ █')
  assert.is(sparkline([1, 1], 9), '▄▄')
  assert.is(sparkline([1], 0), '')
})

test('a training tells of each step its place in the data, its rate, and what it saw', async () => {
  const told: StepReport[] = []
  const options = { model: smallNetwork, input: [2, 3, 24, 40], device: 'reference', threads: 1, strategy: 'plain' } as const
  await valueOf(train({ ...options, data: folder, steps: 3, accumulate: 2, lr: 0.5, warmup: 2, onStep: (one) => told.push(one) }))
  assert.equal(
    told.map(({ step, epoch, learningRate, images, pixels }) => [step, epoch, learningRate, images, pixels]),
    [0, 1, 2].map((step) => [step, (step + 1) / 2, step === 0 ? 0.25 : 0.5, 4, 4 * 24 * 40])
  )
})

test('a search for a plan is told of each second, and no oftener', () => {
  const told: (Searched & { readonly at: number })[] = []
  const began = performance.now()
  const { onSearch } = throttleSearch({ onSearch: (searched) => told.push({ ...searched, at: performance.now() }) })
  // However long others hold this process up in between.
  for (let segments = 1; told.length < 2 && performance.now() - began < 20_000; segments++) onSearch!({ plans: 0, segments })
  assert.is(told.length, 2)
  assert.ok(told[0]!.at - began >= 1000 && told[1]!.at - told[0]!.at >= 999)
  assert.ok(0 < told[0]!.segments && told[0]!.segments < told[1]!.segments)
  assert.equal(throttleSearch({}), {})
})

test('a search tells of every segment and plan that it looks at', () => {
  const told: Searched[] = []
  const request: StageRequest = {
    ...{ model: smallNetwork, input: [2, 3, 24, 40], strategy: 'sft', budget: { fractionOfPlain: 0.9 } },
    device: referenceModel('float32'),
    objective: { kind: 'train', optimizer: { kind: 'sgd', momentum: 0.9, weightDecay: 0 } },
    source: { kind: 'image', mean: [0, 0, 0], deviation: [1, 1, 1] }
  }
  const watched = stage({ ...request, onSearch: (searched) => told.push(searched) })
  assert.ok(isRight(watched))
  assert.ok(told.at(-1)!.plans > 0 && told.at(-1)!.segments > told.at(-1)!.plans)
  told.slice(1).forEach(({ plans, segments }, index) => assert.is(plans + segments, told[index]!.plans + told[index]!.segments + 1))
  const alone = stage(request)
  assert.ok(isRight(alone))
  assert.equal(watched.right.plan, alone.right.plan)
})

test('--quiet leaves standard error empty, and the answer as it is', async () => {
  const args = ['train', smallModel, '--data', folder, '--input', '2x3x24x40', '--device', 'reference', '--steps', '2', '--threads', '1']
  const { status, stdout, stderr } = await tilefold([...args, '--quiet'])
  assert.equal([status, stderr], [0, ''])
  assert.match(stdout, /^2 steps, .* of computing, .*\n$/)
})

test('a validation says each ten seconds how far it is, and nothing where it is sooner through', () => {
  const said: string[] = []
  let now = 0
  const tell = remainingProgress(
    'validating',
    (text) => said.push(text),
    () => now
  )
  const validate = (total: number, secondsEach: number): void => {
    for (let done = 1; done <= total; done += 1) {
      now += 1000 * secondsEach
      tell(done, total)
    }
  }
  validate(3, 8)
  assert.equal(said, [])
  now += 1e6
  validate(1, 1)
  validate(10, 4)
  assert.equal(said, ['validating: 4/10, 24.0 s left', 'validating: 7/10, 12.0 s left'])
})

test.run()
