/**
 * Swapping through the real command: host budgets, the link, plan files with what waits on the
 * host.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { PlanFile } from '../../../dsl'
import { compiledCommand } from '../compiled-command'
import { temporaryFolder } from '../temporary-folder'

const folder = temporaryFolder()
const { runInTurn: run, runsInTurn } = compiledCommand()
const at = (name: string): string => join(folder, name)
const net = ['vgg11', '--classes', '2', '--input', '1x3x128x128', '--threads', '2'] as const
const swapping = ['--strategy', 'greedy', '--budget', '92%'] as const

const json = async (...args: readonly string[]) => {
  const { status, stdout, stderr } = await run([...args, '--json'])
  assert.is(status, 0, stderr)
  return JSON.parse(stdout)
}
const refusal = async (...args: readonly string[]): Promise<readonly [number | null, string]> => {
  const { status, stderr } = await run(args)
  assert.is(stderr.trimEnd().split('\n').length, 1, stderr)
  return [status, stderr.trimEnd()]
}

test('a plan says what waits on the host, and its file does the same again', async () => {
  const planned = await json('plan', ...net, ...swapping, '--out', at('swap.plan.ts'))
  assert.ok(planned.swapSchedule.length > 0 && planned.peakHostBytes > 0)
  assert.ok(planned.peakDeviceBytes <= planned.budgetBytes)
  const again = await json('plan', ...net, '--plan', at('swap.plan.ts'))
  for (const field of ['swapSchedule', 'peakDeviceBytes', 'peakHostBytes', 'predictedStepMs'])
    assert.equal(again[field], planned[field], field)
  const { stdout } = await run(['plan', ...net, '--plan', at('swap.plan.ts')])
  for (const { tensor } of planned.swapSchedule) assert.ok(stdout.includes(tensor), stdout)
  const text = readFileSync(at('swap.plan.ts'), 'utf8')
  writeFileSync(at('swap.plan.ts'), text.replace(/tensor: 'output of [^']*'/, "tensor: 'output of features.99'"))
  const [status, sentence] = await refusal('plan', ...net, '--plan', at('swap.plan.ts'))
  assert.is(status, 2)
  assert.match(sentence, /swap\.plan\.ts:\d+:\d+: swapSchedule: there is no tensor output of features\.99\.$/)
})

test('bench measures on the host what was planned, over a link that is as slow as asked for', async () => {
  const fast = await json('bench', ...net, ...swapping, '--steps', '1')
  assert.is(fast.predictedPeakHostBytes - fast.peakHostBytes < 4096 && fast.peakHostBytes <= fast.predictedPeakHostBytes, true)
  const slow = await json('bench', ...net, ...swapping, '--steps', '1', '--host-bandwidth', '5MB/s', '--host-budget', '1GB')
  assert.ok(slow.peakHostBytes > 0)
  // Whatever the machine is busy with, the bytes cannot cross the link sooner.
  const seconds = (2 * slow.peakHostBytes) / 5e6
  assert.ok(slow.predictedStepMs >= 900 * seconds, `${slow.predictedStepMs} ms for ${seconds} s of transfers`)
  assert.ok(slow.stepMs[0] >= 900 * seconds, `${slow.stepMs[0]} ms for ${seconds} s of transfers`)
})

test('nothing waits on a host of 0 bytes: auto does without, and what swaps says what it needs', async () => {
  const planned = await json('plan', ...net, '--host-budget', '0')
  assert.is(planned.peakHostBytes, 0)
  const [status, sentence] = await refusal('plan', ...net, ...swapping, '--host-budget', '0')
  assert.is(status, 3)
  assert.match(sentence, /does not fit the host budget of 0 bytes: strategy greedy needs at least \d+ bytes/)
})

test('what is wrong is one sentence with its exit status', async () => {
  await json('plan', ...net, ...swapping, '--out', at('swap.json'))
  const plan = JSON.parse(readFileSync(at('swap.json'), 'utf8')) as PlanFile
  const changed = (name: string, change: object): string => {
    const interval = plan.swapSchedule!.find(({ tensor }) => tensor.startsWith('output of '))
    writeFileSync(at(name), JSON.stringify({ ...plan, swapSchedule: [{ ...interval, ...change }] }))
    return at(name)
  }
  const early = changed('early.json', { swapOut: 'forward features.0' })
  const missing = changed('missing.json', { freed: 'forward features.99' })
  const mistyped = changed('mistyped.json', { swapIn: 3 })
  const cases = [
    [3, /does not fit the host budget of 1000 bytes: strategy greedy needs at least \d+ bytes/, ...swapping, '--host-budget', '1000'],
    [
      3,
      /does not fit the host budget of 1000 bytes: the given plan needs at least \d+ bytes/,
      '--plan',
      at('swap.json'),
      '--host-budget',
      '1000'
    ],
    [2, /^--host-budget: "much" is not a size/, '--host-budget', 'much'],
    [2, /^--host-bandwidth: "2GB" is not a rate: write 2GB\/s, or another size with \/s\.$/, '--host-bandwidth', '2GB'],
    [2, /^--host-bandwidth: "20%\/s" is not a rate/, '--host-bandwidth', '20%/s'],
    [
      2,
      /^the plan .*early\.json: swapSchedule: .* is not there yet before forward features\.0; it must be swapped out later\.$/,
      '--plan',
      early
    ],
    [2, /^the plan .*missing\.json: swapSchedule: there is no timepoint forward features\.99\.$/, '--plan', missing],
    [2, /mistyped\.json: swapSchedule\[0\]\.swapIn is 3, not a string\.$/, '--plan', mistyped]
  ] as const
  const answers = await runsInTurn(cases.map(([, , ...args]) => ['plan', ...net, ...args]))
  cases.forEach(([expected, sentence], index) => {
    const { status, stderr } = answers[index]!
    assert.match(stderr.trimEnd(), sentence)
    assert.equal([status, stderr.trimEnd().split('\n').length], [expected, 1])
  })
})

test.run()
