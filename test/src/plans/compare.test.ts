/** `compare` beside what each strategy plans by itself. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { compare, plan } from '../../../src'
import { strategyNames } from '../../../staging'
import { root } from '../command-line'
import { compiledCommand } from '../compiled-command'
import { failureOf, valueOf } from '../outcome'
import small from '../small-model'
import { temporaryFolder } from '../temporary-folder'

const { runInTurn: run, smallModel } = compiledCommand()

test('every row is what its strategy plans within its budget', async () => {
  const { rows } = await valueOf(compare({ model: small, device: 'reference', budgets: [4096, '70%', '100%'] }))
  assert.equal(
    rows.map(({ strategy }) => strategy),
    strategyNames.flatMap((name) => [name, name, name])
  )
  for (const { strategy, budgetBytes, feasible, predictedStepMs, peakDeviceBytes, peakHostBytes, movedBytes, recomputedFlops } of rows) {
    const planned = plan({ model: small, device: 'reference', strategy, budget: budgetBytes })
    if (!feasible) {
      assert.is((await failureOf(planned)).code, 'budget')
      assert.is(predictedStepMs, null)
      continue
    }
    const report = await valueOf(planned)
    assert.equal([predictedStepMs, peakDeviceBytes, peakHostBytes], [report.predictedStepMs, report.peakDeviceBytes, report.peakHostBytes])
    assert.ok(peakDeviceBytes! <= budgetBytes)
    // What goes to the host comes back.
    assert.is(movedBytes! > 0, peakHostBytes! > 0)
    if (strategy === 'plain') assert.is(recomputedFlops, 0)
    // What it computes again may have no products.
    if (strategy !== 'sft-offload' && report.segments.some(({ recompute }) => recompute)) assert.ok(recomputedFlops! > 0)
  }
  const unknown = compare({ model: small, budgets: ['100%'], strategies: ['best' as 'auto'] })
  assert.match((await failureOf(unknown)).message, /^strategies: there is no strategy best; take some of auto, plain/)
  const fits = rows.filter(({ feasible }) => feasible)
  assert.ok(fits.length > 0 && fits.length < rows.length)
})

test('a budget that is given twice, in bytes or as a share, is planned once', async () => {
  const options = { model: small, device: 'reference', strategies: ['plain', 'sft'] } as const
  const { rows } = await valueOf(compare({ ...options, budgets: ['70%', '100%', '70%'] }))
  const [share] = rows
  assert.equal(
    rows.map(({ strategy }) => strategy),
    ['plain', 'plain', 'sft', 'sft']
  )
  assert.is((await valueOf(compare({ ...options, budgets: ['70%', share!.budgetBytes] }))).rows.length, 2)
})

test('a described device has no more than its memory, whatever the budget, and a budget over it spoils no other row', async () => {
  const file = JSON.parse(readFileSync(join(root, 'devices', 'v100-16gb.json'), 'utf8'))
  const options = { model: small, strategies: ['plain', 'chen'], device: file } as const
  const plain = (await valueOf(compare({ ...options, budgets: ['100%'] }))).rows[0]!.peakDeviceBytes!
  const tight = { ...file, memoryBytes: plain - 1 }
  const { rows } = await valueOf(compare({ ...options, device: tight, budgets: ['200%', plain - 1] }))
  assert.equal(
    rows.map(({ strategy, budgetBytes, feasible }) => [strategy, budgetBytes, feasible]),
    [
      ['plain', 2 * plain, false],
      ['plain', plain - 1, false],
      ['chen', 2 * plain, true],
      ['chen', plain - 1, true]
    ]
  )
  assert.equal({ ...rows[2], budgetBytes: 0 }, { ...rows[3], budgetBytes: 0 })
})

test('of a device whose times round to nothing no share of the bound is shown', async () => {
  const rates = { flopsPerSecond: { float32: 1e24, float64: 1e24 }, bytesPerSecond: 1e24, launchSeconds: 0 }
  const sheet = { ...JSON.parse(readFileSync(join(root, 'devices', 'v100-16gb.json'), 'utf8')), ...rates }
  const path = join(temporaryFolder(), 'fast.json')
  writeFileSync(path, JSON.stringify(sheet))
  const { status, stdout } = await run(['compare', smallModel, '--device', path, '--budgets', '100%', '--strategies', 'plain'])
  assert.is(status, 0)
  assert.match(stdout, /plain +│[^│]+│ 0\.00 ms +│ +│/)
})

test('an interrupt is heard between rows', async () => {
  const controller = new AbortController()
  setImmediate(() => controller.abort())
  const { code, message } = await failureOf(
    compare({ model: small, device: 'reference', budgets: ['70%', '100%'], signal: controller.signal })
  )
  assert.is(code, 'interrupted')
  assert.match(message, /^interrupted after \d+ of \d+ rows$/)
})

test('the command prints the same rows, and says what is wrong with its options', async () => {
  const args = ['compare', smallModel, '--device', 'reference', '--budgets', '50%,100%', '--strategies', 'plain,sft']
  const { status, stdout } = await run([...args, '--json'])
  assert.is(status, 0)
  const { rows } = JSON.parse(stdout)
  assert.is(rows.length, 4)
  assert.match((await run(args)).stdout, /plain +│.*does not fit/)
  for (const [option, value, sentence] of [
    ['--budgets', '20%,much', /^--budgets: "much" is not a size/],
    ['--strategies', 'plain,sft,plain', /^--strategies: "plain" stands there twice\.$/m],
    ['--strategies', 'plain,best', /^--strategies: Allowed choices are auto, plain/]
  ] as const) {
    const refused = await run([...args, option, value])
    assert.is(refused.status, 2)
    assert.match(refused.stderr, sentence)
  }
})

test.run()
