import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { openMetrics } from '../../../src/training/state/metrics-file'
import { failureOf, valueOf } from '../outcome'
import { temporaryFolder } from '../temporary-folder'

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

test('where training goes on, a file that holds more than its metrics is set aside before it is cut', async () => {
  const text = (...values: readonly unknown[]): string => values.map((value) => `${JSON.stringify(value)}\n`).join('')
  const mine = text(step(1), { step: 1, validation: { loss: 0.5, accuracy: 0.75 } }, step(2))
  const loss = [1, 0.5]
  const others = { ...step(2), loss: 0.25 }
  let asides = 0
  for (const [held, kept, isAside] of [
    [mine, mine, false],
    [mine + text(step(3), step(4)), mine, false],
    [`${mine}{"step":3,"lo`, mine, false],
    [text(step(2)), text(step(2)), false],
    ['', '', false],
    [`${mine}my notes\n`, mine, true],
    [`${mine}my notes`, mine, true],
    [mine + text(step(3)) + 'notes\n', mine, true],
    [text(step(1), others, step(3)), text(step(1)), true],
    [text({ ...step(1), loss: null }, step(2)), '', true],
    [mine + text(step(3), step(1)), mine, true]
  ] as const) {
    writeFileSync(path, held)
    const notices: string[] = []
    const opening = openMetrics({ path, steps: 2, loss, notice: (sentence) => notices.push(sentence) })
    await (await valueOf(opening)).close()
    assert.is(readFileSync(path, 'utf8'), kept)
    const said = notices.filter((sentence) => !/ lacks /.test(sentence))
    if (!isAside) assert.equal(said, [])
    else {
      while (said[0]?.endsWith(`${path}.${asides} now`) === false) asides += 1
      assert.equal(said, [`${path} held more than the metrics of this training: as it was it is in ${path}.${asides} now`])
      assert.is(readFileSync(`${path}.${asides}`, 'utf8'), held)
    }
  }
})

test('where training goes on, lines of its last step that a full disk has torn are written anew', async () => {
  const text = (...values: readonly unknown[]): string => values.map((value) => `${JSON.stringify(value)}\n`).join('')
  const last = [step(2), { step: 2, validation: { loss: 0.5, accuracy: 0.75 } }] as const
  for (const [held, kept] of [
    [`${text(step(1))}{"step":2,"lo`, text(step(1), ...last)],
    [`${text(step(1), step(2))}{"st`, text(step(1), ...last)],
    [text(step(1), ...last, step(3)), text(step(1), ...last)],
    ['', '']
  ] as const) {
    writeFileSync(path, held)
    await (await valueOf(openMetrics({ path, steps: 2, loss: [1, 0.5], last }))).close()
    assert.is(readFileSync(path, 'utf8'), kept)
  }
  // A state that was kept in the midst of a validation does not tell it: it is made again.
  writeFileSync(path, text(step(1), ...last))
  await (await valueOf(openMetrics({ path, steps: 2, last: [step(2)], notice: assert.unreachable }))).close()
  assert.is(readFileSync(path, 'utf8'), text(step(1), step(2)))
  // Who has left out steps before has told no one of the last either.
  writeFileSync(path, text(step(1)))
  await (await valueOf(openMetrics({ path, steps: 3, last: [step(3)] }))).close()
  assert.is(readFileSync(path, 'utf8'), text(step(1)))
})

test('where training goes on, steps that the file lacks are told, unless it is new', async () => {
  const text = (...numbers: readonly number[]): string => numbers.map((number) => `${JSON.stringify(step(number))}\n`).join('')
  const validated = `${JSON.stringify({ step: 5, validation: { loss: 0.5, accuracy: 0.75 } })}\n`
  for (const [held, lacked] of [
    [text(1, 2, 3, 4, 5, 6), undefined],
    [text(1, 2, 3, 4, 5, 6, 7), undefined],
    [text(1, 2, 3, 4, 5), undefined],
    [text(1, 2, 3, 4), 'steps 5 to 6'],
    [`${text(1, 2)}{"step":3,"lo`, 'steps 3 to 6'],
    [text(1, 2, 3, 4) + validated + text(6), 'step 5'],
    [text(1, 3, 4, 6), '2 of the steps 2 to 5'],
    [text(3, 4, 5, 6), undefined],
    ['', 'steps 1 to 6'],
    [undefined, undefined]
  ] as const) {
    if (held === undefined) rmSync(path)
    else writeFileSync(path, held)
    const notices: string[] = []
    const opening = openMetrics({ path, steps: 6, last: [step(6)], notice: (sentence) => notices.push(sentence) })
    await (await valueOf(opening)).close()
    assert.equal(notices, lacked === undefined ? [] : [`${path} lacks ${lacked}, cut off or never written: it goes on after step 6`])
  }
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
