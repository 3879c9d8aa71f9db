/**
 * Virtual addressing through the real command: --placement virtual, --page-size, plan files that
 * say so.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { PlanFile } from '../../../dsl'
import { compiledCommand } from '../compiled-command'
import { temporaryFolder } from '../temporary-folder'

const folder = temporaryFolder()
const { runInTurn: run } = compiledCommand()
const at = (name: string): string => join(folder, name)
const net = ['vgg11', '--classes', '2', '--input', '1x3x128x128', '--threads', '2'] as const
const swapping = ['--strategy', 'greedy', '--budget', '95%'] as const
const pages = ['--placement', 'virtual', '--page-size', '128KiB'] as const

const json = async (...args: readonly string[]) => {
  const { status, stdout, stderr } = await run([...args, '--json'])
  assert.is(status, 0, stderr)
  return JSON.parse(stdout)
}

test('a plan in pages says so, its file does the same again, and the device holds as many as planned', async () => {
  const planned = await json('plan', ...net, ...swapping, ...pages, '--out', at('pages.plan.ts'))
  assert.equal(planned.placement, { allocator: 'virtual', pageBytes: 131072 })
  assert.ok(planned.swapSchedule.length > 0)
  assert.is(planned.peakDeviceBytes % 131072, 0)
  const again = await json('plan', ...net, '--plan', at('pages.plan.ts'))
  for (const field of ['placement', 'peakDeviceBytes', 'predictedStepMs']) assert.equal(again[field], planned[field], field)
  const { stdout } = await run(['plan', ...net, '--plan', at('pages.plan.ts')])
  assert.match(stdout, /virtual, in pages of 128 KiB/)
  const measured = await json('bench', ...net, '--plan', at('pages.plan.ts'), '--steps', '2')
  assert.is(measured.predictedPeakBytes, planned.peakDeviceBytes)
  const untouched = measured.predictedPeakBytes - measured.peakDeviceBytes
  assert.ok(untouched === 0 || untouched === 131072, `${untouched} bytes were not touched`)
  // What is placed by offsets says nothing of it in its file.
  const whole = await json('plan', ...net, ...swapping, '--out', at('whole.json'))
  assert.equal(whole.placement, { allocator: 'static' })
  assert.is((JSON.parse(readFileSync(at('whole.json'), 'utf8')) as PlanFile).placement, undefined)
})

test('what is wrong is one sentence with its exit status', async () => {
  await json('plan', ...net, ...pages, '--strategy', 'plain', '--out', at('pages.json'))
  const plan = JSON.parse(readFileSync(at('pages.json'), 'utf8')) as PlanFile
  const changed = (name: string, placement: object): string => {
    writeFileSync(at(name), JSON.stringify({ ...plan, placement }))
    return at(name)
  }
  for (const [status, sentence, ...args] of [
    [2, /^--placement: Allowed choices are static, virtual\.$/, '--placement', 'gtbm'],
    [2, /^--page-size: "much" is not a size/, '--placement', 'virtual', '--page-size', 'much'],
    [2, /^--page-size: give a multiple of 4096 bytes, which is a page, such as 64KiB\.$/, '--placement', 'virtual', '--page-size', '5000'],
    [2, /^--page-size: give a multiple of 4096/, '--placement', 'virtual', '--page-size', '20%'],
    [2, /^--page-size: static has no pages of memory; leave it out, or take --placement virtual\.$/, '--page-size', '64KiB'],
    [
      2,
      /^--page-size: give a multiple of 2097152 bytes, which is the least that an NVIDIA GPU maps, such as 2MiB\.$/,
      ...pages,
      '--device',
      'cuda'
    ],
    [2, /^--plan: its pages of \d+ bytes are no multiple of the 2097152/, '--plan', at('pages.json'), '--device', 'cuda'],
    [2, /^option '--plan <file>' cannot be used with option '--placement <name>'\.$/, '--plan', at('pages.json'), ...pages],
    [
      2,
      /^the plan .*odd\.json: placement: pages of 5000 bytes are no multiple of 4096\.$/,
      '--plan',
      changed('odd.json', { allocator: 'virtual', pageBytes: 5000 })
    ],
    [2, /placement\.allocator is "paged", not 'virtual'\.$/, '--plan', changed('other.json', { allocator: 'paged', chunkBytes: 4096 })],
    [3, /does not fit the budget of 1048576 bytes/, ...pages, '--strategy', 'plain', '--budget', '1MiB']
  ] as const) {
    const { status: found, stderr } = await run(['plan', ...net, ...args])
    assert.match(stderr.trimEnd(), sentence)
    assert.is(found, status)
  }
})

test.run()
