import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { tilefold } from './command-line'
import { compiledCommand } from './compiled-command'
import { temporaryFolder } from './temporary-folder'

const cache = temporaryFolder()
process.env.XDG_CACHE_HOME = cache
const { run, smallModel } = compiledCommand()
const setup = [smallModel, '--threads', '2', '--strategy', 'plain', '--json']
const cached = (): string => join(cache, 'tilefold', readdirSync(join(cache, 'tilefold'))[0]!)

test('a plan says that its times are a rough model, until the kernels are measured', async () => {
  const before = await run(['plan', ...setup])
  assert.is(before.status, 0, before.stderr)
  assert.is(JSON.parse(before.stdout).timesFrom.roofline, 1)

  const measured = await run(['profile', ...setup])
  assert.is(measured.status, 0, measured.stderr)
  const { kernels, linkBytesPerSecond, device, measured: count, path } = JSON.parse(measured.stdout)
  assert.is(device, 'cpu')
  assert.ok(linkBytesPerSecond.toDevice > 1e7 && linkBytesPerSecond.toHost > 1e7)
  assert.ok(count > 10 && kernels.length === count)
  assert.ok(kernels.every(({ milliseconds }: { readonly milliseconds: number }) => milliseconds > 0))
  assert.is(path, cached())
  assert.is(JSON.parse(readFileSync(path, 'utf8')).kernels.length, count)

  const after = await run(['plan', ...setup])
  const { timesFrom, predictedStepMs } = JSON.parse(after.stdout)
  assert.ok(timesFrom.measured + timesFrom.near > 0.9, JSON.stringify(timesFrom))
  assert.is.not(predictedStepMs, JSON.parse(before.stdout).predictedStepMs)

  const again = await run(['profile', ...setup])
  assert.ok(JSON.parse(again.stdout).measured < count / 2, 'what is known is measured again')
})

test('a damaged profile is a sentence that says what to do', async () => {
  mkdirSync(join(cache, 'tilefold'), { recursive: true })
  for (const [text, sentence] of [
    ['{', /cannot be read as JSON .*; delete it, and run tilefold profile again\.\n$/],
    ['{"device":"cpu"}', /is not a profile; delete it, and run tilefold profile again\.\n$/]
  ] as const) {
    writeFileSync(cached(), text)
    const { status, stderr } = await run(['plan', ...setup])
    assert.is(status, 2)
    assert.match(stderr, sentence)
  }
})

test('the reference device has no profile', async () => {
  const { status, stderr } = await tilefold(['profile', smallModel, '--device', 'reference'])
  assert.is(status, 2)
  assert.match(stderr, /^only the cpu and the cuda device are worth a profile/)
})

test.run()
