import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { openMetrics } from '../../src/training/metrics-file'
import { failureOf, valueOf } from './outcome'
import { temporaryFolder } from './temporary-folder'

const path = join(temporaryFolder(), 'metrics.jsonl')

const step = (number: number) => ({ step: number, loss: 1 / number, learningRate: 0.1, milliseconds: 2 })
const opened = (steps: number) => openMetrics({ path, steps })
const lines = (): readonly unknown[] =>
  readFileSync(path, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))

test('an object a step and a validation, each readable at once; opened again, what is later is cut off', async () => {
  const metrics = await valueOf(opened(0))
  for (const number of [1, 2, 3]) await valueOf(metrics.step(step(number)))
  await valueOf(metrics.validation({ step: 3, loss: 0.5, accuracy: 0.75, auc: null }))
  assert.equal(lines(), [step(1), step(2), step(3), { step: 3, validation: { loss: 0.5, accuracy: 0.75, auc: null } }])
  await metrics.close()
  const whole = readFileSync(path)
  for (const torn of ['{"step":4,"lo', '{"step":4}\n{"ste', 'null\n', '\n']) {
    writeFileSync(path, Buffer.concat([whole, Buffer.from(torn)]))
    await (await valueOf(opened(3))).close()
    assert.equal(readFileSync(path), whole)
  }
  const again = await valueOf(opened(2))
  await valueOf(again.step(step(3)))
  await again.close()
  assert.equal(lines(), [step(1), step(2), step(3)])
  await (await valueOf(opened(0))).close()
  assert.is(readFileSync(path, 'utf8'), '')
})

test('a file of something else is not emptied', async () => {
  for (const text of ['path,label\na.png,0\n', 'notes', '{"name":"tilefold"}\n']) {
    writeFileSync(path, text)
    const { code, message } = await failureOf(opened(0))
    assert.is(code, 'input')
    assert.match(message, /metrics\.jsonl: cannot be written \(it holds something else than the metrics of a training\)/)
    assert.is(readFileSync(path, 'utf8'), text)
  }
  assert.match((await failureOf(openMetrics({ path: '/dev/null', steps: 0 }))).message, /it is no ordinary file/)
})

test.run()
